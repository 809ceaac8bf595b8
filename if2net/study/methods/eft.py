"""EFT: efficient feature transformations (Verma et al., 2021)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.errors import unknown
from if2net.study.methods.common.branches import BranchedNetwork, Branches, BranchesSettings

FAR = 1e9  # more than any difference of logits
NORMS: dict[str, type[nn.Module]] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}


@dataclass(frozen=True)
class EFTSettings(BranchesSettings):
    epochs: int = 20
    separation: float = 0.05  # μ: the weight of the term that separates the features of the tasks
    decay: float = 5e-3  # weight decay; it keeps the classifiers from being overconfident
    group: int = 1  # nodes that a transform mixes; the authors mix 16 channels
    norm: str = "layer"  # or batch, the authors'

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in NORMS:
            raise unknown("normalisation", self.norm, NORMS)


class Transform(nn.Module):
    """The transform of one task at one layer: norm(Az + b), where A mixes the nodes of each group."""

    def __init__(self, width: int, group: int, norm: str) -> None:
        super().__init__()
        group = math.gcd(width, group)
        self.mix = nn.Parameter(torch.eye(group).repeat(width // group, 1, 1))
        self.shift = nn.Parameter(torch.zeros(width))
        self.norm = NORMS[norm](width)

    def forward(self, z: Tensor) -> Tensor:
        self.norm.train(self.training and len(z) > 1)  # one sample has no spread
        groups = z.unflatten(1, (len(self.mix), -1)).transpose(0, 1)
        return self.norm(torch.bmm(groups, self.mix).transpose(0, 1).flatten(1) + self.shift)


class TransformedNetwork(BranchedNetwork):
    """Shared layers, and one transform per task and layer."""

    def __init__(self, inputs: int, classes: int, settings: EFTSettings, generator: torch.Generator) -> None:
        super().__init__(inputs, classes, settings, generator)
        first = (Transform(settings.hidden, settings.group, settings.norm) for _ in range(settings.depth))
        self.transforms = nn.ModuleList([nn.ModuleList(first)])
        self.eval()  # only the transforms of the current task are in training mode

    def grow_branch(self) -> None:
        """Start the new task from the transforms of the previous one."""
        self.transforms.append(copy.deepcopy(self.transforms[-1]))

    def branch(self, X: Tensor, task: int) -> Tensor:
        """Φ of the task: h ← ReLU(transform(Wh + b)) at each layer."""
        for layer, transform in zip(self.hidden, self.transforms[task].children(), strict=True):
            X = torch.relu(transform(layer(X)))
        return X


class EFT(Branches):
    """Freeze the layers after the first task; each later task trains a small transform per layer and its head rows.

    At prediction time the task whose classifier has the least entropy decides. The shared layers, the transforms and
    the head are kept between tasks. Departures: the layers are fully connected. The original's transforms are two
    convolutions over groups of 16 and of 8 channels, and batch normalisation. Here that is `group=16`, which contains
    the groups of 8, and `norm=batch`; the default is a scale per node and layer normalisation, which was better on
    MNIST. Transforms start as the identity. The last step is kept, where the original keeps the epoch with the best
    test accuracy.
    """

    name = "eft"
    summary = "frozen layers with a small transform per task; the most certain task decides"
    Settings = EFTSettings
    graph_safe = True
    network_type = TransformedNetwork
    network: TransformedNetwork

    def trainable(self) -> list[nn.Parameter]:
        """The shared layers in the first task only, the task's transforms, and the head (last)."""
        shared = [] if self.tasks else [*self.network.hidden.parameters()]
        return [*shared, *self.network.transforms[self.tasks].parameters(), *self.network.head.parameters()]

    def begin(self, X: Tensor, y: Tensor) -> None:
        super().begin(X, y)
        self.network.hidden.requires_grad_(self.tasks == 0)
        self.network.transforms[self.tasks].train()

    def finish(self, X: Tensor, y: Tensor) -> None:
        super().finish(X, y)
        self.network.eval()

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """CE over the task's classes + μ/(t−1) Σ_{m<t} max(0, 1 − ‖Φ_t(B) − Φ_m(B)‖_F / |B|)."""
        features = self.network.branch(X, self.tasks)
        loss = self.cross_entropy(self.network.head(features), y)
        if self.tasks == 0:
            return loss
        with torch.no_grad():
            earlier = torch.stack([self.network.branch(X, task) for task in range(self.tasks)])
        distances = torch.linalg.vector_norm(features - earlier, dim=(1, 2)) / len(X)
        return loss + self.settings.separation * torch.relu(1 - distances).mean()

    def before_step(self, X: Tensor, y: Tensor) -> None:
        """Add the weight decay, except for the head rows of earlier tasks, which must not change."""
        parameters = [parameter.detach() for parameter in self.trainable()]
        gradients = [parameter.grad for parameter in self.trainable() if parameter.grad is not None]
        torch._foreach_add_(gradients, parameters, alpha=self.settings.decay)
        for rows in gradients[-2:]:
            rows[: self.old_classes] = 0

    def scores(self, X: Tensor) -> Tensor:
        """The logits of each task; those of the task with the least entropy come before all others."""
        logits = [part.double() for part in self.logits(X)]
        entropies = torch.stack([_entropy(part) for part in logits], dim=1)
        chosen = entropies.argmin(dim=1, keepdim=True)
        return torch.cat([part.where(chosen == task, part - FAR) for task, part in enumerate(logits)], dim=1)


def _entropy(logits: Tensor) -> Tensor:
    log_p = F.log_softmax(logits, dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)
