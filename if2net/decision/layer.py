"""What all rules share: the statistics of everything learned, and a β that some rule derives from them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.calibration import temperature
from if2net.decision.projector import free_share, projector
from if2net.decision.statistics import Statistics


@dataclass(frozen=True)
class RuleConfig:
    """Every number of Algorithm 2. The gradient and EWC rules read all of them, the analytic one two."""

    ridge: float | None = None  # relative to tr(G)/S; chosen on held-out statistics when not given
    holdout: float = 0.1  # share of the samples, picked by their content, that choose the ridge
    alpha: float = 0.1  # the projector's α; the paper's value
    projector: str = "exact"  # or `recursive`, the paper's; or `batch-mean`, OWM's
    initialisation: str = "analytic"  # of the first task (Remark 1); or `random`
    initial_samples: int | None = None  # how many samples of the first task it sees; all when not given
    mu: float = 2.0**-30  # μ of Remark 1; the paper's value
    epochs: int = 5
    batch_size: int = 64
    step: float = 1.0  # as a share of 1/λmax of the projected curvature; it diverges above 2
    fisher: float = 100.0  # weight of the EWC penalty
    seed: int = 0


# The ridge and the temperature are chosen on about so many features, evenly picked, where there are more than four
# times as many: the factorisation that the choice needs is then small beside the one of everything.
CHOOSING_FEATURES = 2048


def thinning(count: int, enough: int) -> slice:
    """Every k-th of so many, so that about `enough` are left; all of them where that would not save much.

    >>> thinning(6785, 2048), thinning(10_000, 2048)
    (slice(None, None, 1), slice(None, None, 5))
    """
    return slice(None, None, 1 if count <= 4 * enough else math.ceil(count / enough))


# What a rule reports while it works: task, epoch, loss and tr(P)/S.
Progress = dict[str, float]
Report = Callable[[Progress], None]


class DecisionLayer(ABC):
    """Statistics of everything learned, and a β that some rule derives from them.

    `held` are those samples once more whose content picks them for choosing the ridge; they count in the final β as
    well. Of a wide layer `held` has only some features.
    """

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        self.config = config
        self.total = Statistics(width, dtype, device)
        self.features = thinning(width, CHOOSING_FEATURES)
        self.held = Statistics(len(range(width)[self.features]), dtype, device)
        self._temperature: float | None = None

    @property
    def width(self) -> int:
        return self.total.width

    @property
    def classes(self) -> int:
        return self.total.classes

    @property
    def counts(self) -> Tensor:
        """Samples learned, by class."""
        return self.total.counts

    @property
    def G(self) -> Tensor:
        """VᵀV of everything learned; the lower triangle counts."""
        return self.total.G

    @property
    def Q(self) -> Tensor:
        return self.total.Q

    @property
    def fitting(self) -> Statistics:
        """Of everything but the held-out samples, at the features that `held` has."""
        return self.total.thinned(self.features).without(self.held)

    @property
    @abstractmethod
    def beta(self) -> Tensor:
        """The output weights, S × C."""

    @property
    def temperature(self) -> float:
        if self._temperature is None:
            self._temperature = self._fit_temperature()
        return self._temperature

    def grow(self, classes: int) -> None:
        self.total.grow(classes)
        self.held.grow(classes)
        self._changed()

    def add(self, V: Tensor, y: Tensor, held: Tensor) -> None:
        self.total.add(V, y)
        self.held.add(*self._chosen(V, y, held))
        self._changed()

    def free_share(self) -> float:
        """tr(P)/S after everything learned so far."""
        return free_share(projector(self.G, self._projector_alpha()))

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.total.tensors("total")
        yield from self.held.tensors("held")

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.total.restore("total", tensors)
        self.held.restore("held", tensors)
        self._changed()

    def _chosen(self, V: Tensor, y: Tensor, held: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """What `held` counts: its features of the held-out rows.

        On a GPU all rows and a mask: to pick the rows is to wait until it knows how many they are.
        """
        some = V[:, self.features]
        if V.device.type == "cuda":
            return some, y, held
        rows = held.nonzero().flatten()
        return some[rows].contiguous(), y[rows], None

    def _projector_alpha(self) -> float:
        return self.config.alpha

    def _fit_temperature(self) -> float:
        """With β as it is: gradient rules have no other."""
        if self.held.samples and self.held.width == self.width:
            return temperature(self.beta, self.held)
        return temperature(self.beta, self.total)

    def _changed(self) -> None:
        self._temperature = None
