"""IL2M: incremental learning with dual memory (Belouadah and Popescu, 2019)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.study.methods.common.replay import Replay, ReplaySettings

SMALLEST = 1e-6  # a lower bound of mean scores, which are divided by


class IL2M(Replay):
    """Train with replay, and rectify the scores of old classes by statistics from when they were new.

    The loss is plain cross-entropy on the task and the exemplars. If a new class has the highest score, the score of
    each old class is multiplied by (μ⁰/μᵗ)·(κᵗ/κ): μ is the mean score of a class on its own samples, when it was
    new and now, and κ the mean top score of its task and of the newest one. Exemplars, μ⁰ and κ are kept between
    tasks. Departure: scores are probabilities; the original multiplies raw outputs, which may be negative.
    """

    name = "il2m"
    summary = "replay, and scores of old classes rectified by statistics from when they were new"
    graph_safe = True

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: ReplaySettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["initial"] = torch.empty(0, device=device)  # μ⁰ of each class
        self.state["confidence"] = torch.empty(0, device=device)  # κ of each class's task

    def finish(self, X: Tensor, y: Tensor) -> None:
        self.take_statistics(X, y)
        self.remember(X, y)

    @torch.no_grad()
    def take_statistics(self, X: Tensor, y: Tensor) -> None:
        """Compute μ⁰ and κ of the new classes on the task, and μᵗ of the old ones on the memory."""
        probabilities, classes, old = self.probabilities(X), self.network.classes, self.old_classes
        initial = torch.cat([self.state["initial"], own_scores(probabilities, y)[old:]])
        top = probabilities.max(dim=1).values.mean()
        confidence = torch.cat([self.state["confidence"], top.expand(classes - old)])
        old_X, old_y = self.memory
        present = own_scores(self.probabilities(old_X), old_y)
        # The present score of a class without exemplars is unknown; it is assumed not to have changed.
        present = torch.where(old_y.bincount(minlength=classes) > 0, present, initial)
        # (μ⁰/μᵗ)·(κᵗ/κ) for the old classes, 1 for the new ones
        factor = initial / present.clamp(min=SMALLEST) * (top / confidence)
        new = torch.arange(classes, device=self.device) >= old
        factor = torch.where(new, 1.0, factor)
        self.state |= {"initial": initial, "confidence": confidence, "factor": factor, "new": new}

    def scores(self, X: Tensor) -> Tensor:
        probabilities = self.probabilities(X)
        new_wins = self.state["new"][probabilities.argmax(dim=1)]
        return torch.where(new_wins[:, None], probabilities * self.state["factor"], probabilities)

    def probabilities(self, X: Tensor) -> Tensor:
        return self.network(X).softmax(dim=1)


def own_scores(scores: Tensor, y: Tensor) -> Tensor:
    """The mean score of each class on its own samples; 0 for a class without samples.

    >>> own_scores(torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [1.0, 0.0, 0.0]]), torch.tensor([0, 1, 0]))
    tensor([0.7500, 0.7500, 0.0000])
    """
    own = F.one_hot(y, scores.shape[1])
    return (scores * own).sum(dim=0) / own.sum(dim=0).clamp(min=1)
