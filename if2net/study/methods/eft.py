"""EFT: efficient feature transformations (Verma et al., 2021)."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.study.methods.common.branches import BranchedNetwork, Branches, BranchesSettings


@dataclass(frozen=True)
class EFTSettings(BranchesSettings):
    epochs: int = 20
    separation: float = 0.05  # μ: the weight of the term that separates the features of the tasks
    decay: float = 5e-3  # weight decay; it keeps the classifiers from being overconfident


class Transform(nn.Module):
    """The transform of one task at one layer: norm(γ ⊙ z + β)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.norm = nn.LayerNorm(width)

    def forward(self, z: Tensor) -> Tensor:
        return self.norm(self.scale * z + self.shift)


class TransformedNetwork(BranchedNetwork):
    """Shared layers, and one transform per task and layer."""

    def __init__(
        self, inputs: int, classes: int, hidden: int, depth: int, tasks: int, generator: torch.Generator
    ) -> None:
        super().__init__(inputs, classes, hidden, depth, generator)
        stacks = (nn.ModuleList(Transform(hidden) for _ in range(depth)) for _ in range(tasks))
        self.transforms = nn.ModuleList(stacks)

    def grow_branch(self) -> None:
        """Start the new task from the transforms of the previous one."""
        self.transforms.append(copy.deepcopy(self.transforms[-1]))

    def branch(self, X: Tensor, task: int) -> Tensor:
        """Φ of the task: h ← ReLU(norm(γ ⊙ (Wh + b) + β)) at each layer."""
        for layer, transform in zip(self.hidden, self.transforms[task].children(), strict=True):
            X = torch.relu(transform(layer(X)))
        return X


class EFT(Branches):
    """Freeze the layers after the first task; each later task trains a small transform per layer and its head rows.

    At prediction time the task whose classifier has the least entropy decides. The shared layers, the transforms and
    the head are kept between tasks. Departures: the layers are fully connected, so the transforms are the diagonal
    ones of the original's last layers; layer normalisation replaces batch normalisation, which would cancel the
    scale before it; the last step is kept, where the original keeps the epoch with the best test accuracy.
    """

    name = "eft"
    summary = "frozen layers with a small transform per task; the most certain task decides"
    Settings = EFTSettings
    network: TransformedNetwork

    def build(self, classes: int) -> TransformedNetwork:
        generator, settings = torch.Generator().manual_seed(self.seed), self.settings
        tasks = max(self.tasks, 1)
        return TransformedNetwork(self.inputs, classes, settings.hidden, settings.depth, tasks, generator)

    def trainable(self) -> list[nn.Parameter]:
        """The shared layers in the first task only, the task's transforms, and the head (last)."""
        shared = [] if self.tasks else [*self.network.hidden.parameters()]
        return [*shared, *self.network.transforms[self.tasks].parameters(), *self.network.head.parameters()]

    def begin(self, X: Tensor, y: Tensor) -> None:
        super().begin(X, y)
        self.network.hidden.requires_grad_(self.tasks == 0)

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
        """The logits of the task with the least entropy, and −∞ for the classes of all others."""
        logits = self.logits(X)
        entropies = torch.stack([_entropy(part) for part in logits], dim=1)
        chosen = entropies.argmin(dim=1, keepdim=True)
        kept = [part.where(chosen == task, -torch.inf) for task, part in enumerate(logits)]
        return torch.cat(kept, dim=1)


def _entropy(logits: Tensor) -> Tensor:
    log_p = F.log_softmax(logits, dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)
