"""PCL: per-class continual learning (Hu et al., 2021)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.study.methods.common.branches import BranchedNetwork, Branches, BranchesSettings


@dataclass(frozen=True)
class PCLSettings(BranchesSettings):
    nodes: int = 100  # hidden nodes of each one-class network
    hidden: int = 1000  # of the softmax network of each task
    depth: int = 1
    rate: float = 0.1
    batch_size: int = 100
    epochs: int = 20
    flatness: float = 0.5  # the weight of the penalty on the slope of the scores
    sharing: float = 0.001  # ρ: the weight of the distance to the mean of the earlier networks
    contrast: float = 0.1  # the share of the response of the other classes' mean network that is subtracted
    dropout: float = 0.05
    clip: float = 1.0  # the largest gradient norm of a network


class ClassNetworks(BranchedNetwork):
    """One one-class network s = w·ReLU(W₁x) per class, and one softmax network per task."""

    def __init__(self, inputs: int, classes: int, settings: PCLSettings, generator: torch.Generator) -> None:
        super().__init__(inputs, classes, settings, generator)
        # Units with the same index are averaged later, so all classes start from one network.
        self.first = nn.Parameter(self._linear(inputs, settings.nodes).weight.detach().repeat(classes, 1, 1))
        self.second = nn.Parameter(self._linear(settings.nodes, 1).weight.detach().repeat(classes, 1))
        self.widths = [inputs, *[settings.hidden] * settings.depth]
        self.hidden = nn.ModuleList([self.hidden])  # from here on one stack of layers per task

    def grow(self, classes: int) -> None:
        """Start each new class from the mean of the earlier ones."""
        for name in ("first", "second"):
            old = getattr(self, name).detach()
            new = old.mean(dim=0, keepdim=True).expand(classes - self.classes, *old.shape[1:])
            setattr(self, name, nn.Parameter(torch.cat([old, new])))
        super().grow(classes)

    def grow_branch(self) -> None:
        layers = (self._linear(a, b) for a, b in itertools.pairwise(self.widths))
        self.hidden.append(nn.ModuleList(layers).to(self.head.weight.device))

    def branch(self, X: Tensor, task: int) -> Tensor:
        for layer in self.hidden[task].children():
            X = torch.relu(layer(X))
        return X


class PCL(Branches):
    """Train a one-class network per class, with a penalty on its slope so that the scores are comparable.

    The softmax network of each task proposes one candidate class, and the candidate with the highest score is the
    prediction. All networks are kept between tasks. Departures: the classes of a task are trained at the same time,
    from the mean of the earlier tasks' networks, together with the softmax network; the last step is kept, where the
    original keeps the epoch with the best test accuracy.
    """

    name = "pcl"
    summary = "one-class networks; the softmax network of each task proposes a candidate"
    Settings = PCLSettings
    graph_safe = True
    network_type = ClassNetworks
    network: ClassNetworks

    def trainable(self) -> list[nn.Parameter]:
        """All class networks; those of earlier classes do not change, since the loss does not depend on them."""
        network = self.network
        return [network.first, network.second, *network.hidden[self.tasks].parameters(), *network.head.parameters()]

    def begin(self, X: Tensor, y: Tensor) -> None:
        super().begin(X, y)
        self.start = [part[self.old_classes :].detach().clone() for part in self._one_class()]
        self.random = self.device_generator(salt=4)

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """CE of the task's softmax network + Σ_c the one-class loss of class c."""
        X = _normalise(X)
        softmax = self.cross_entropy(self.network.head(self.network.branch(X, self.tasks)), y)
        return softmax + self.one_class_losses(X, y - self.old_classes).sum()

    def one_class_losses(self, X: Tensor, y: Tensor) -> Tensor:
        """−mean log(σ(s) + 0.01) + ½ mean ‖∂s/∂x‖⁸ + ρ Σ ‖W − W̄‖_F for each class of the task, over its samples.

        W̄ is the mean of the earlier classes, from which the new ones start. The first task has no such term.
        """
        W, w = self.network.first[self.old_classes :], self.network.second[self.old_classes :]
        response = torch.einsum("nd,chd->cnh", X, W)
        kept = torch.rand(response.shape, generator=self.random, device=self.device) >= self.settings.dropout
        # s = a·Wx and ∂s/∂x = aᵀW, where a is w on the active nodes that are not dropped out, and 0 on the others.
        a = w.unsqueeze(1) * ((response > 0) & kept) / (1 - self.settings.dropout)
        score = (a * response).sum(dim=2)
        slope = torch.bmm(a, W).square().sum(dim=2).pow(4)
        each = self.settings.flatness * slope - torch.log(torch.sigmoid(score) + 0.01)
        own = y == torch.arange(len(W), device=self.device).unsqueeze(1)
        means = (each * own).sum(dim=1) / own.sum(dim=1).clamp(min=1)
        if self.tasks == 0:
            return means
        moved = [(part - start).flatten(1).norm(dim=1) for part, start in zip((W, w), self.start, strict=True)]
        return means + self.settings.sharing * torch.stack(moved).sum(dim=0)

    def before_step(self, X: Tensor, y: Tensor) -> None:
        """Clip the gradient of each network by its own norm."""
        gradients = [part.grad for part in self._one_class() if part.grad is not None]
        norms = torch.stack([gradient.flatten(1).norm(dim=1) for gradient in gradients]).norm(dim=0)
        scales = (self.settings.clip / norms.clamp(min=1e-12)).clamp(max=1)
        for gradient in gradients:
            gradient.mul_(scales.view(-1, *[1] * (gradient.dim() - 1)))
        softmax = [*self.network.hidden[self.tasks].parameters(), *self.network.head.parameters()]
        nn.utils.clip_grad_norm_(softmax, self.settings.clip)

    def scores(self, X: Tensor) -> Tensor:
        """s = w·(ReLU(W₁x) − 0.1·ReLU(W̄₁x)) for the candidate of each task; W̄₁ is the mean of the other classes."""
        X, W = _normalise(X), self.network.first
        others = (W.sum(dim=0) - W) / max(len(W) - 1, 1)
        own, common = (torch.relu(torch.einsum("nd,chd->nch", X, part)) for part in (W, others))
        scores = ((own - self.settings.contrast * common) * self.network.second).sum(dim=2)
        candidates = torch.cat([part == part.amax(dim=1, keepdim=True) for part in self.logits(X)], dim=1)
        return scores.where(candidates, -torch.inf)

    def _one_class(self) -> tuple[nn.Parameter, nn.Parameter]:
        return self.network.first, self.network.second


def _normalise(X: Tensor) -> Tensor:
    """Scale samples to unit length, which keeps the eighth power small, and apply the original's shift."""
    return F.normalize(X, dim=1) - 0.02
