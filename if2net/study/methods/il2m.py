"""IL2M (Belouadah & Popescu, ICCV 2019): a second memory, of scores, rectifies the old classes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.study.methods.replay import Replay, ReplaySettings

SMALLEST = 1e-6  # a mean score that a class may be divided by


class IL2M(Replay):
    """Replay; where a new class wins, the old classes' scores are put back to the size they had when new.

    Kept for each class are the mean score μ⁰ of its samples and the mean top score κ of its task, both when it was
    new. The scores are probabilities; the original's raw outputs may be negative, and a factor then does the
    opposite of what it should.
    """

    name = "il2m"
    summary = "replay; old classes' scores are rectified by statistics from when they were new"
    replays = True

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: ReplaySettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["initial"] = torch.empty(0, device=device)  # μ⁰ of each class
        self.state["confidence"] = torch.empty(0, device=device)  # κ of each class's task
        self.state["factor"] = torch.empty(0, device=device)
        self.state["new"] = torch.empty(0, dtype=torch.bool, device=device)

    def finish(self, X: Tensor, y: Tensor) -> None:
        self.take_statistics(X, y)
        self.remember(X, y)

    @torch.no_grad()
    def take_statistics(self, X: Tensor, y: Tensor) -> None:
        """μ⁰ and κ of the new classes from the task, μᵗ of the old ones from the memory."""
        probabilities, classes, old = self.probabilities(X), self.network.classes, self.old
        initial = torch.cat([self.state["initial"], own_scores(probabilities, y)[old:]])
        top = probabilities.max(dim=1).values.mean()
        confidence = torch.cat([self.state["confidence"], top.expand(classes - old)])
        old_X, old_y = self.memory
        present = own_scores(self.probabilities(old_X), old_y)
        # Without exemplars nothing is known of a class's present scores: they are taken to be as they were.
        present = torch.where(old_y.bincount(minlength=classes) > 0, present, initial)
        # (μ⁰ / μᵗ) · (κᵗ / κ of the class's own task), which is 1 for the new classes
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
    """For each class the mean score that its own samples give it; 0 where it has none.

    >>> own_scores(torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [1.0, 0.0, 0.0]]), torch.tensor([0, 1, 0]))
    tensor([0.7500, 0.7500, 0.0000])
    """
    own = F.one_hot(y, scores.shape[1])
    return (scores * own).sum(dim=0) / own.sum(dim=0).clamp(min=1)
