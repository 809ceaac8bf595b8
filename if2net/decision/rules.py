"""How β moves when new data comes: the layer that all rules share, and the analytic rule (ours, the default)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.calibration import temperature
from if2net.decision.projector import free_share, projector
from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.ridge_choice import choose_ridge
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


# What a rule reports while it works: task, epoch, loss and tr(P)/S.
Progress = dict[str, float]
Report = Callable[[Progress], None]


class DecisionLayer(ABC):
    """Statistics of everything learned, in two parts, and a β that some rule derives from them.

    `held` are the samples whose content picks them for choosing the ridge; they count in the final β as well.
    """

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        self.config = config
        self.fitting = Statistics(width, dtype, device)
        self.held = Statistics(width, dtype, device)
        self._temperature: float | None = None

    @property
    def width(self) -> int:
        return self.fitting.width

    @property
    def classes(self) -> int:
        return self.fitting.classes

    @property
    def counts(self) -> Tensor:
        """Samples learned, by class."""
        return self.fitting.counts + self.held.counts

    @property
    def G(self) -> Tensor:
        """VᵀV of everything learned; the lower triangle counts."""
        return self.fitting.G + self.held.G

    @property
    def Q(self) -> Tensor:
        return self.fitting.Q + self.held.Q

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
        self.fitting.grow(classes)
        self.held.grow(classes)
        self._changed()

    def add(self, V: Tensor, y: Tensor, held: Tensor) -> None:
        self.fitting.add(V[~held], y[~held])
        self.held.add(V[held], y[held])
        self._changed()

    def free_share(self) -> float:
        """tr(P)/S after everything learned so far."""
        return free_share(projector(self.G, self._projector_alpha()))

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.fitting.tensors("fitting")
        yield from self.held.tensors("held")

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.fitting.restore("fitting", tensors)
        self.held.restore("held", tensors)
        self._changed()

    def _projector_alpha(self) -> float:
        return self.config.alpha

    def _fit_temperature(self) -> float:
        return temperature(self.beta, self.held if self.held.samples else self.fitting)

    def _changed(self) -> None:
        self._temperature = None


class Analytic(DecisionLayer):
    """β_t = β_{t−1} + (G_t + αI)⁻¹V_tᵀ(Y_t − V_tβ_{t−1}), which by induction is (G_t + αI)⁻¹Q_t.

    The exact minimiser of ‖V_tβ − Y_t‖² + α(β − β_{t−1})ᵀP_t⁻¹(β − β_{t−1}): the joint ridge solution, whatever
    the order or the split of the data. β is solved only when somebody asks for it.
    """

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__(width, config, dtype, device)
        self._beta: Tensor | None = None
        self._ridge: float | None = None

    @property
    def ridge(self) -> float:
        """The relative ridge in use: the given one, or the one that held-out statistics choose."""
        if self.config.ridge is not None:
            return self.config.ridge
        if self._ridge is None:
            self._ridge = choose_ridge(self.fitting, self.held)
        return self._ridge

    @property
    def beta(self) -> Tensor:
        if self._beta is None:
            G = self.G
            self._beta = solve(G, self.Q, absolute_ridge(G, self.ridge))
        return self._beta

    def subtract(self, V: Tensor, y: Tensor, held: Tensor) -> None:
        self.fitting.subtract(V[~held], y[~held])
        self.held.subtract(V[held], y[held])
        self._changed()

    def keep(self, columns: Tensor) -> None:
        self.fitting.keep(columns)
        self.held.keep(columns)
        self._changed()

    def merge(self, other: Analytic, columns: Tensor) -> None:
        self.fitting.merge(other.fitting, columns)
        self.held.merge(other.held, columns)
        self._changed()

    def _projector_alpha(self) -> float:
        return absolute_ridge(self.G, self.ridge)

    def _fit_temperature(self) -> float:
        if not self.held.samples or not self.fitting.samples:
            return super()._fit_temperature()
        # The β that has not seen the held-out samples: with the final one they would look too easy.
        alpha = absolute_ridge(self.fitting.G, self.ridge)
        return temperature(solve(self.fitting.G, self.fitting.Q, alpha), self.held)

    def _changed(self) -> None:
        super()._changed()
        self._beta = self._ridge = None
