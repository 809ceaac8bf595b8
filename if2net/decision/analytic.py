"""The analytic rule (ours, the default): β is at any time the joint ridge solution of everything learned."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.decision.calibration import temperature
from if2net.decision.layer import DecisionLayer, RuleConfig, thinning
from if2net.decision.ridge import absolute_ridge, factor, solve, solve_by
from if2net.decision.ridge_choice import SLACK, SLACK_OF_SOME, check_ridge, choose_ridge
from if2net.decision.statistics import one_hot
from if2net.decision.updated import MOST_ROWS, UpdatedInverse

# The ridge is chosen on about so many classes, evenly picked, where there are more than four times as many.
CHOOSING_CLASSES = 64
# Where a layer is at least so wide, solving it again for a few samples is worth avoiding.
WIDE = 2048
# β is solved again, and the ridge chosen again, at the latest when so large a share of the samples is new.
NEW_SHARE = 0.02


class Analytic(DecisionLayer):
    """β_t = β_{t−1} + (G_t + αI)⁻¹V_tᵀ(Y_t − V_tβ_{t−1}), which by induction is (G_t + αI)⁻¹Q_t.

    The exact minimiser of ‖V_tβ − Y_t‖² + α(β − β_{t−1})ᵀP_t⁻¹(β − β_{t−1}): the joint ridge solution, whatever
    the order or the split of the data. β is solved only when somebody asks for it, and then by the second form. A
    few samples for a wide layer go by the first: α stays as it is for a while, and the factor is kept for the next.
    """

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__(width, config, dtype, device)
        self._beta: Tensor | None = None
        self._ridge: float | None = None
        self._keeps_factor = False  # it is as large as G: only for those who learn a few samples at a time
        self._inverse: UpdatedInverse | None = None

    @property
    def ridge(self) -> float:
        """The relative ridge in use: the given one, or the one that held-out statistics choose."""
        if self.config.ridge is not None:
            return self.config.ridge
        if self._ridge is None:
            classes = thinning(self.classes, CHOOSING_CLASSES)
            fitting, held = (part.thinned(slice(None), classes) for part in (self.fitting, self.held))
            self._ridge = choose_ridge(fitting, held, SLACK if held.width == self.width else SLACK_OF_SOME)
        return self._ridge

    @property
    def beta(self) -> Tensor:
        if self._beta is None:
            alpha = absolute_ridge(self.G, self.ridge)
            if self.config.ridge is not None:
                check_ridge(self.G, alpha)
            if self._keeps_factor:  # in G's own precision: nothing will correct what it adds to β later
                self._inverse = UpdatedInverse(factor(self.G, alpha))
                self._beta = solve_by(self._inverse.lower, self.G, self.Q, alpha)
            else:
                self._beta = solve(self.G, self.Q, alpha)
        return self._beta

    def few(self, samples: int) -> bool:
        """Whether so many samples are few beside the width, so that `update` is the way to add them."""
        return self.width >= WIDE and samples <= min(MOST_ROWS, NEW_SHARE * self.total.samples)

    def update(self, V: Tensor, y: Tensor, held: Tensor, classes: int) -> None:
        """Add a few samples in place. Where a factor is kept β moves with them, at the price of a few products."""
        inverse, beta, ridge = self._inverse, self._beta, self._ridge
        fresh = inverse is not None and beta is not None and self._is_fresh(inverse, V)
        if inverse is not None and beta is not None and fresh:
            beta = pad(beta, (0, classes - beta.shape[1]))
            missing = one_hot(y, classes, beta.dtype) - V @ beta
            beta = beta + inverse.grow(V).to(beta.dtype) @ missing
        self.grow(classes)
        self.add(V, y, held)
        self._keeps_factor = True
        if fresh:
            self._beta, self._inverse, self._ridge = beta, inverse, ridge

    def _is_fresh(self, inverse: UpdatedInverse, V: Tensor) -> bool:
        """Whether the factor may serve for these samples, too: few are new, and α = ridge · tr(G)/S hardly moves."""
        new = inverse.trace + float(V.double().square().sum())
        return self.few(inverse.rows + len(V)) and new <= NEW_SHARE * (self.total.trace - inverse.trace)

    def settle(self) -> None:
        """Let go of the factor; β will be solved from the statistics alone."""
        self._keeps_factor = False
        if self._inverse is not None and self._inverse.rows:
            self._changed()
        self._inverse = None

    def subtract(self, V: Tensor, y: Tensor, held: Tensor) -> None:
        self.total.subtract(V, y)
        self.held.subtract(*self._chosen(V, y, held))
        self._changed()

    def keep(self, columns: Tensor) -> None:
        self.total.keep(columns)
        self.held.keep(columns)
        self._changed()

    def take_out(self, other: Analytic) -> None:
        """What another has counted of the same classes."""
        self.total.take_out(other.total)
        self.held.take_out(other.held)
        self._changed()

    def merge(self, other: Analytic, columns: Tensor) -> None:
        self.total.merge(other.total, columns)
        self.held.merge(other.held, columns)
        self._changed()

    def _projector_alpha(self) -> float:
        return absolute_ridge(self.G, self.ridge)

    def _fit_temperature(self) -> float:
        if not 0 < self.held.samples < self.total.samples:
            return super()._fit_temperature()
        # The β that has not seen the held-out samples: with the final one they would look too easy.
        fitting = self.fitting
        return temperature(solve(fitting.G, fitting.Q, absolute_ridge(fitting.G, self.ridge)), self.held)

    def _changed(self) -> None:
        super()._changed()
        self._beta = self._ridge = self._inverse = None
