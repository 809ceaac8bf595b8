"""RPS-Net (Rajasegaran et al., Random Path Selection for Incremental Learning, NeurIPS 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.errors import ConfigurationError
from if2net.study.methods.distillation import Distillation, DistillationSettings
from if2net.study.methods.network import Network


@dataclass(frozen=True)
class RPSNetSettings(DistillationSettings):
    modules: int = 8  # in each layer
    paths: int = 8  # full training runs a task, of which the best is kept
    repeats: int = 1  # how often an exemplar is seen for each time a new sample is; 10 in the original
    rigidity: float = 2.5  # how fast the distillation gains weight, from the third task on

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("modules", "paths", "repeats"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"The setting {name} of rps-net must be at least 1.")


class RPSNet(Distillation):
    """Each layer is a sum of modules; a task trains the modules on a random path that no earlier task has used.

    A layer is ReLU(Σ_j (W_j h + b_j)) over the modules used so far. Modules are linear and summed before the ReLU, so
    that only their sum is needed and only the sum is kept: a new module is added at its random start, and training
    the sum is training that module. Where a path meets a module in use, its layer stays as it is.

    Ours: the path is chosen on a tenth of the training data (the original chooses it on test data), and the teacher
    runs on its own path, not on the new one.
    """

    name = "rps-net"
    summary = "replay and distillation along the best of several random paths"
    Settings = RPSNetSettings
    replays = True
    fresh: list[bool]  # for each layer: does the path that is being trained bring a new module?

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: RPSNetSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["used"] = torch.zeros(settings.depth, settings.modules, dtype=torch.bool, device=device)

    def trained(self) -> list[nn.Parameter]:
        moving = [layer for layer, fresh in zip(self.network.hidden, self.fresh, strict=True) if fresh]
        return [parameter for layer in [*moving, self.network.head] for parameter in layer.parameters()]

    def train(self, X: Tensor, y: Tensor) -> None:
        """One full training run a path; the one that is best on the hold-out stays."""
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
        """CE + φ Σ max(0, KL terms) / |B|; the target is the teacher's logits and, for new classes, the labels."""
        logits = self.network(X)
        learning = self.cross_entropy(logits, y)
        if self.old == 0:
            return learning
        target = F.one_hot(y, self.network.classes).float()
        target[:, : self.old] = self.teacher(X)[:, : self.old]
        remembering = self.divergence(logits, target).clamp(min=0).sum(dim=1).mean()
        return learning + self.weight() * remembering

    def weight(self) -> float:
        """φ: 1 in the second task, then growing."""
        return 1.0 if self.tasks == 1 else self.settings.rigidity * (self.tasks - 1)

    def split(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """A tenth of the samples to choose a path on, and the others, with the exemplars repeated."""
        order = torch.randperm(len(y), generator=self.generator(salt=4)).to(self.device)
        held_out, rest = order.tensor_split([max(1, len(y) // 10)])
        exemplars = rest[y[rest] < self.old]
        return held_out, torch.cat([rest, exemplars.repeat(self.settings.repeats - 1)])

    def draw_paths(self) -> list[list[int]]:
        """A module for each layer, a row a path. Before the first task all modules are alike: one path will do."""
        shape = (self.settings.paths if self.tasks > 0 else 1, self.settings.depth)
        return torch.randint(self.settings.modules, shape, generator=self.generator(salt=5)).tolist()

    @torch.no_grad()
    def enter(self, path: list[int]) -> None:
        """Add the path's new modules, at their random start, to their layers."""
        self.fresh = (~self.state["used"][range(len(path)), path]).tolist()
        if self.tasks == 0:  # the first modules are what the network was made with
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
