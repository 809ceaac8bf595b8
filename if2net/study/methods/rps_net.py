"""RPS-Net: random path selection (Rajasegaran et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.errors import ConfigurationError
from if2net.study.methods.common.distillation import Distillation, DistillationSettings
from if2net.study.methods.common.network import Network


@dataclass(frozen=True)
class RPSNetSettings(DistillationSettings):
    modules: int = 8  # per layer
    paths: int = 8  # full training runs per task; the best one is kept
    repeats: int = 1  # times that an exemplar is used per epoch; 10 in the original
    rigidity: float = 2.5  # the growth of the distillation's weight per task, from the third task on

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("modules", "paths", "repeats"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"The setting {name} of rps-net must be at least 1.")


class RPSNet(Distillation):
    """Train the unused modules on a random path, with replay and distillation, and keep the best of several paths.

    A layer is ReLU(Σ_j (W_j h + b_j)) over the modules used so far. Modules are linear and summed before the ReLU,
    so only their sum is kept: a new module is added with its random initial values, and training the sum is training
    that module. If the path meets a used module, that layer is not trained. Exemplars and the set of used modules
    are kept between tasks. Departures: the path is chosen on a tenth of the training data, where the original uses
    test data; the teacher runs on its own path, not on the new one.
    """

    name = "rps-net"
    summary = "replay and distillation along the best of several random paths"
    Settings = RPSNetSettings
    graph_safe = True
    fresh: list[bool]  # per layer: whether the current path adds a new module

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: RPSNetSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["used"] = torch.zeros(settings.depth, settings.modules, dtype=torch.bool, device=device)

    def trainable(self) -> list[nn.Parameter]:
        moving = [layer for layer, fresh in zip(self.network.hidden, self.fresh, strict=True) if fresh]
        return [parameter for layer in [*moving, self.network.head] for parameter in layer.parameters()]

    def train(self, X: Tensor, y: Tensor) -> None:
        """Train each path in full, and keep the one with the best accuracy on the held-out samples."""
        held_out, rest = self.split(y)
        start, runs = self.weights(), []
        for path in self.draw_paths():
            self.network.load_state_dict(start)
            self.enter(path)
            super().train(X[rest], y[rest])
            runs.append((self.accuracy(X[held_out], y[held_out]), path, self.weights()))
        _, path, weights = max(runs, key=lambda run: run[0])
        self.network.load_state_dict(weights)
        self.state["used"][range(len(path)), path] = True

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """CE + φ Σ max(0, KL terms) / |B|, where the target joins the teacher's old logits and the new labels."""
        logits = self.network(X)
        cross_entropy = self.cross_entropy(logits, y)
        if self.old_classes == 0:
            return cross_entropy
        target = F.one_hot(y, self.network.classes).float()
        target[:, : self.old_classes] = self.teacher(X)[:, : self.old_classes]
        distillation = self.divergence(logits, target).clamp(min=0).sum(dim=1).mean()
        return cross_entropy + self.distillation_weight() * distillation

    def distillation_weight(self) -> float:
        """φ: 1 in the second task, growing afterwards."""
        return 1.0 if self.tasks == 1 else self.settings.rigidity * (self.tasks - 1)

    def split(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """The indices of the held-out samples, a tenth, and of the others, with the exemplars repeated."""
        order = torch.randperm(len(y), generator=self.generator(salt=4)).to(self.device)
        held_out, rest = order.tensor_split([max(1, len(y) // 10)])
        exemplars = rest[y[rest] < self.old_classes]
        return held_out, torch.cat([rest, exemplars.repeat(self.settings.repeats - 1)])

    def draw_paths(self) -> list[list[int]]:
        """Draw one module per layer for each path. One path is enough in the first task: all modules are equal."""
        shape = (self.settings.paths if self.tasks > 0 else 1, self.settings.depth)
        return torch.randint(self.settings.modules, shape, generator=self.generator(salt=5)).tolist()

    @torch.no_grad()
    def enter(self, path: list[int]) -> None:
        """Add the new modules of the path to their layers. The other layers need no gradients."""
        self.fresh = (~self.state["used"][range(len(path)), path]).tolist()
        for layer, fresh in zip(self.network.hidden, self.fresh, strict=True):
            layer.requires_grad_(fresh)
        if self.tasks == 0:  # the initial network holds the first modules
            return
        modules = Network(self.inputs, 1, self.settings.hidden, self.settings.depth, self.network.generator)
        for layer, module, fresh in zip(self.network.hidden, modules.hidden, self.fresh, strict=True):
            for total, part in zip(layer.parameters(), module.parameters(), strict=True):
                total.add_(part.to(self.device), alpha=int(fresh))

    def weights(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.network.state_dict().items()}

    @torch.no_grad()
    def accuracy(self, X: Tensor, y: Tensor) -> float:
        return (self.scores(X).argmax(dim=1) == y).float().mean().item()
