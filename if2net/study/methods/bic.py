"""BiC: bias correction (Wu et al., 2019)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from if2net.study.methods.common.distillation import Distillation

HOLD_OUT_EVERY = 10  # one sample in ten is held out
PENALTY = 0.05  # on a − 1 and b
LARGEST_NORM = 2.0  # the gradient is clipped to this norm


class BiC(Distillation):
    """Train with replay and distillation, then correct the logits of the newest classes to a·z + b.

    The numbers a and b are fitted to held-out samples after each task; `loss` is the loss of the network, and
    `newest_correction` that of a and b. Exemplars, a and b are kept between tasks. As in the original, only the
    newest classes are corrected, and the teacher is corrected by the a and b of its own last task. Departures: a
    penalty pulls a to 1 and b to 0, since a would grow without bound if no held-out sample is wrong; the convex
    problem is solved by L-BFGS instead of 200 epochs; gradients are clipped, instead of the original's schedule
    of rates, since many short tasks diverged at a constant rate.

    Every tenth sample of a class is held out. The memory drops the last samples of a class first, so the index of a
    sample within its class never changes, and a held-out sample is never trained on.
    """

    name = "bic"
    summary = "replay, distillation, and a correction of the newest classes' logits"
    graph_safe = True

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        X, y = super().training_data(*self.shuffled(X, y))
        trained = ~self.held_out(y)
        return X[trained], y[trained]

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """(1 − ρ) CE + ρ KL(teacher ‖ network) over the old classes, where ρ is their share of all classes."""
        logits = self.network(X)
        cross_entropy = self.cross_entropy(logits, y)
        if self.old_classes == 0:
            return cross_entropy
        share = self.old_classes / self.network.classes
        target = self.correct(self.teacher(X)[:, : self.old_classes])
        distillation = self.divergence(logits[:, : self.old_classes], target).sum(dim=1).mean()
        return (1 - share) * cross_entropy + share * distillation

    def before_step(self, X: Tensor, y: Tensor) -> None:
        clip_grad_norm_(self.network.parameters(), LARGEST_NORM)

    def finish(self, X: Tensor, y: Tensor) -> None:
        X, y = self.shuffled(X, y)
        self.fit_correction(*super().training_data(X, y))
        self.remember(X, y)

    def scores(self, X: Tensor) -> Tensor:
        return self.correct(self.network(X))

    def correct(self, logits: Tensor) -> Tensor:
        """a·z + b for the newest classes, z for all others."""
        return logits * self.state["scale"] + self.state["shift"]

    def fit_correction(self, X: Tensor, y: Tensor) -> None:
        """Fit a and b to equally many held-out samples of each class, with the network frozen."""
        held_out, classes = self.held_out(y), self.network.classes
        fewest = int(y[held_out].bincount(minlength=classes).min())
        chosen = held_out & (index_within_class(y) < HOLD_OUT_EVERY * fewest)
        with torch.no_grad():
            logits, labels = self.network(X[chosen]), y[chosen]
        self.state["scale"] = torch.ones(classes, device=self.device)
        self.state["shift"] = torch.zeros(classes, device=self.device)
        if self.old_classes and fewest:
            a, b = newest_correction(logits, labels, self.old_classes)
            self.state["scale"][self.old_classes :], self.state["shift"][self.old_classes :] = a, b

    def held_out(self, y: Tensor) -> Tensor:
        """The mask of held-out samples. A new class has as many of them as an old class has in the memory."""
        index = index_within_class(y)
        share = self.settings.memory // (self.old_classes or self.network.classes)
        return (index % HOLD_OUT_EVERY == 0) & (index < share)

    def shuffled(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Shuffle the task, in the same order at each call, so that the held-out samples are random."""
        order = torch.randperm(len(y), generator=self.generator(salt=4)).to(self.device)
        return X[order], y[order]

    def choose_exemplars(self, y: Tensor) -> Tensor:
        """The first ⌊memory / classes⌋ samples of each class."""
        return (index_within_class(y) < self.settings.memory // self.network.classes).nonzero().squeeze(1)


def index_within_class(y: Tensor) -> Tensor:
    """The number of earlier samples of the same class, for each sample.

    >>> index_within_class(torch.tensor([1, 0, 1, 1, 0]))
    tensor([0, 0, 1, 2, 1])
    """
    order, counts = y.argsort(stable=True), y.bincount()
    first = (counts.cumsum(0) - counts)[y[order]]
    return torch.empty_like(y).scatter_(0, order, torch.arange(len(y), device=y.device) - first)


def newest_correction(logits: Tensor, y: Tensor, old: int) -> Tensor:
    """argmin CE([z_old, a·z_new + b]) + 0.05·((a − 1)² + b²) over a and b."""
    with torch.enable_grad():
        a, b = (torch.tensor(value, device=logits.device, requires_grad=True) for value in (1.0, 0.0))
        solver = torch.optim.LBFGS([a, b], max_iter=200, line_search_fn="strong_wolfe")

        def error() -> Tensor:
            solver.zero_grad()
            corrected = torch.cat([logits[:, :old], a * logits[:, old:] + b], dim=1)
            value = F.cross_entropy(corrected, y) + PENALTY * ((a - 1) ** 2 + b**2)
            value.backward()
            return value

        solver.step(error)
    return torch.stack([a, b]).detach()
