"""EFT: efficient feature transformations (Verma et al., 2021)."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.study.methods.branches import BranchedNetwork, Branches, BranchesSettings


@dataclass(frozen=True)
class EFTSettings(BranchesSettings):
    epochs: int = 20
    separation: float = 0.05  # μ: how strongly the features of the tasks are driven apart
    decay: float = 5e-3  # of the weights; it keeps the classifiers from being sure of everything


class Transform(nn.Module):
    """What a task has of its own at a layer: norm(γ ⊙ z + β)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.norm = nn.LayerNorm(width)

    def forward(self, z: Tensor) -> Tensor:
        return self.norm(self.scale * z + self.shift)


class TransformedNetwork(BranchedNetwork):
    """Shared layers, and a transform for every task and layer."""

    def __init__(
        self, inputs: int, classes: int, hidden: int, depth: int, tasks: int, generator: torch.Generator
    ) -> None:
        super().__init__(inputs, classes, hidden, depth, generator)
        stacks = (nn.ModuleList(Transform(hidden) for _ in range(depth)) for _ in range(tasks))
        self.transforms = nn.ModuleList(stacks)

    def grow_branch(self) -> None:
        """A new task starts from the transforms of the one before it."""
        self.transforms.append(copy.deepcopy(self.transforms[-1]))

    def branch(self, X: Tensor, task: int) -> Tensor:
        """Φ of the task: h ← ReLU(norm(γ ⊙ (Wh + b) + β)) at every layer."""
        for layer, transform in zip(self.hidden, self.transforms[task].children(), strict=True):
            X = torch.relu(transform(layer(X)))
        return X


class EFT(Branches):
    """The layers are frozen after the first task; later ones train a transform of each layer and rows of the head.

    Which task a sample belongs to is taken to be the one whose classifier is surest of it. Departures: the layers
    are fully connected, so the transforms are the diagonal ones of the original's last layers; the normalisation is
    over a layer rather than a batch, which would divide out the scale before it; the last step is kept rather than
    the epoch that is best on test data.
    """

    name = "eft"
    summary = "frozen layers with a small transform a task; the surest task's classifier decides"
    Settings = EFTSettings
    network: TransformedNetwork

    def build(self, classes: int) -> TransformedNetwork:
        generator, settings = torch.Generator().manual_seed(self.seed), self.settings
        tasks = max(self.tasks, 1)
        return TransformedNetwork(self.inputs, classes, settings.hidden, settings.depth, tasks, generator)

    def trained(self) -> list[nn.Parameter]:
        """The head comes last."""
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
        """Weight decay, but for the rows of earlier tasks: they have no part in the loss, and stay where they are."""
        parameters = [parameter.detach() for parameter in self.trained()]
        gradients = [parameter.grad for parameter in self.trained() if parameter.grad is not None]
        torch._foreach_add_(gradients, parameters, alpha=self.settings.decay)
        for rows in gradients[-2:]:
            rows[: self.old] = 0

    def scores(self, X: Tensor) -> Tensor:
        """The logits of the task with the least entropy; no other task's class can win."""
        logits = self.logits(X)
        entropies = torch.stack([_entropy(part) for part in logits], dim=1)
        chosen = entropies.argmin(dim=1, keepdim=True)
        kept = [part.where(chosen == task, -torch.inf) for task, part in enumerate(logits)]
        return torch.cat(kept, dim=1)


def _entropy(logits: Tensor) -> Tensor:
    log_p = F.log_softmax(logits, dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)
