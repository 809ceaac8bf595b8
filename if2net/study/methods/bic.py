"""BiC (Wu et al., Large Scale Incremental Learning, CVPR 2019): two numbers correct the bias to new classes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.study.methods.distillation import Distillation, DistillationSettings

EVERY = 10  # one exemplar in so many is held out
PENALTY = 0.05


class BiC(Distillation):
    """Replay and distillation; then the newest classes' logits become a·z + b, with a and b from held-out samples.

    As in the original only the newest block is corrected, and the teacher's logits are corrected by what was found
    after its last task. Ours: a is drawn to 1 as b is drawn to 0, since a hold-out without errors would let it grow
    without bound; and the convex problem is solved outright instead of by 200 epochs.

    Every tenth sample of a class is held out. The memory lets go of a class's last samples first, so that the place
    of a sample in its class, and with it whether it is held out, never changes: none is ever trained on.
    """

    name = "bic"
    summary = "replay, distillation and a correction of the newest classes' logits"
    replays = True

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: DistillationSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["scale"] = torch.empty(0, device=device)
        self.state["shift"] = torch.empty(0, device=device)

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        X, y = super().training_data(*self.shuffled(X, y))
        trained = ~self.held_out(y)
        return X[trained], y[trained]

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """(1 − ρ) CE + ρ KL(teacher ‖ network), where ρ is the old classes' part of all."""
        logits = self.network(X)
        learning = self.cross_entropy(logits, y)
        if self.old == 0:
            return learning
        share = self.old / self.network.classes
        remembering = self.divergence(logits[:, : self.old], self.corrected(self.teacher(X)[:, : self.old]))
        return (1 - share) * learning + share * remembering.sum(dim=1).mean()

    def finish(self, X: Tensor, y: Tensor) -> None:
        X, y = self.shuffled(X, y)
        self.fit_correction(*super().training_data(X, y))
        self.remember(X, y)

    def scores(self, X: Tensor) -> Tensor:
        return self.corrected(self.network(X))

    def corrected(self, logits: Tensor) -> Tensor:
        return logits * self.state["scale"] + self.state["shift"]

    def fit_correction(self, X: Tensor, y: Tensor) -> None:
        """Cross-entropy over equally many held-out samples of every class, the network being frozen."""
        held_out, classes = self.held_out(y), self.network.classes
        fewest = int(y[held_out].bincount(minlength=classes).min())
        chosen = held_out & (places(y) < EVERY * fewest)
        with torch.no_grad():
            logits, labels = self.network(X[chosen]), y[chosen]
        self.state |= {"scale": torch.ones(classes, device=self.device)}
        self.state |= {"shift": torch.zeros(classes, device=self.device)}
        if self.old and fewest:
            a, b = newest_correction(logits, labels, self.old)
            self.state["scale"][self.old :], self.state["shift"][self.old :] = a, b

    def held_out(self, y: Tensor) -> Tensor:
        """Of each class as many samples as a class of the memory has held-out ones."""
        place = places(y)
        return (place % EVERY == 0) & (place < self.settings.memory // (self.old or self.network.classes))

    def shuffled(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The task in an order of its own, the same at each call, so that a sample's place is by chance."""
        order = torch.randperm(len(y), generator=self.generator(salt=4)).to(self.device)
        return X[order], y[order]

    def _evenly(self, y: Tensor) -> Tensor:
        return (places(y) < self.settings.memory // self.network.classes).nonzero().squeeze(1)


def places(y: Tensor) -> Tensor:
    """How many samples of its class come before each sample.

    >>> places(torch.tensor([1, 0, 1, 1, 0]))
    tensor([0, 0, 1, 2, 1])
    """
    order, counts = y.argsort(stable=True), y.bincount()
    first = (counts.cumsum(0) - counts)[y[order]]
    return torch.empty_like(y).scatter_(0, order, torch.arange(len(y), device=y.device) - first)


def newest_correction(logits: Tensor, y: Tensor, old: int) -> Tensor:
    """The a and b for which the cross-entropy of [z_old, a·z_new + b] is least."""
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
