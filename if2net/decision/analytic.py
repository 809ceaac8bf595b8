"""The analytic rule, the default: β is always the joint ridge solution of everything learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.decision.calibration import temperature
from if2net.decision.layer import DecisionLayer, Report, RuleConfig, Task
from if2net.decision.novelty import Novelty, Product
from if2net.decision.projector import free_share, projector
from if2net.decision.ridge import absolute_ridge, apply_inverse, check_ridge, factor, rounding, solve, solve_by
from if2net.decision.ridge_choice import LARGEST_RIDGE, choose_ridge, choose_wide_ridge, smallest_ridge
from if2net.decision.row_space import OUTSIDE, row_space
from if2net.decision.statistics import Rows, Statistics, one_hot
from if2net.decision.symmetric import cholesky
from if2net.errors import InputError, NumericalError
from if2net.interrupts import uninterrupted
from if2net.tensor_specs import TensorSpec, TensorSpecs
from if2net.torch_modes import check_precision

# With more classes than this, the ridge is chosen on 64 random sums of their columns.
MANY_CLASSES = 256
# A chosen ridge that does not make G positive definite is multiplied by this.
RAISED = 4.0
# For a layer at least this wide, memory for a second G and solving again for a few samples are worth avoiding.
UPDATE_WIDTH = 2048
# At most this many samples are added without a new factorisation; with more, the corrections cost as much.
FEW = 128
# β is solved again, and the ridge chosen again, at the latest when this share of the samples is new.
NEW_SHARE = 0.02
# In a layer whose ridge is chosen on some of the features, a factor is worth its time from this many new samples on
# (benchmarks/few.py).
WORTH_A_FACTOR = 4
# A wide layer counts at most this many samples in place, since undoing them after Ctrl-C must not take long ...
IN_PLACE = 16_384
# ... and only while their squares are at most this many times those of everything learned: larger ones would leave
# rounding errors behind when they are undone.
IN_PLACE_SQUARES = 8
# After forgetting, the remaining sums must be this many times the rounding of the former ones. Scores are then off by
# up to a few times the inverse, divided by the ridge: by 0.01 at a ridge of 0.02, but by more at smaller ones.
ROUNDINGS_LEFT = 5000
# The rest of G may have negative eigenvalues of this many roundings of G in float32. In float64, too, since pictures
# have features from a network in float32, which differ by its rounding from one batch to the next.
ROUNDINGS_OF_REST = 64
# Sums of weights in another order differ by less than this share.
ROUNDINGS_OF_WEIGHTS = 1e-9


class Analytic(DecisionLayer):
    """β_t = β_{t−1} + (G_t + αI)⁻¹V_tᵀ(Y_t − V_tβ_{t−1}), which by induction is (G_t + αI)⁻¹Q_t.

    It is the exact minimiser of ‖V_tβ − Y_t‖² + α(β − β_{t−1})ᵀP_t⁻¹(β − β_{t−1}): the joint ridge solution,
    whatever the order or the split of the data. β is solved when it is first needed, by the second form. A few
    samples for a wide layer use the first form: α stays as it is for a while, and the factor is kept.
    """

    exact = True

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__(width, config, dtype, device)
        self._beta: Tensor | None = None
        self._ridge: float | None = None
        self._keeps_factor = False  # it is as large as G, and only useful when a few samples come at a time
        self._inverse: UpdatedInverse | None = None

    @property
    def ridge(self) -> float:
        """The relative ridge in use: the given one, or the one that held-out statistics choose."""
        if self.config.ridge is not None:
            return self.config.ridge
        if self._ridge is None:
            self._ridge = self._chosen_ridge()
        return self._ridge

    def _chosen_ridge(self) -> float:
        fitting, held = self._parts()
        if self.classes > MANY_CLASSES:
            signs = self._signs()
            fitting, held = fitting.mixed(signs), held.mixed(signs)
        if self._is_thinned:
            return choose_wide_ridge(fitting, held, self.total.G)
        return choose_ridge(fitting, held)

    def _signs(self) -> Tensor:
        """Return a row of 64 random signs ±1/8 per class, from the hash of its label.

        The squared error of 64 sums of columns with these signs has the expectation of the error of all columns. Only
        labels decide on the signs, so the order of the classes does not change the choice.
        """
        numbers = self.class_hashes() if self.class_hashes else np.random.default_rng(0).bytes(8 * self.classes)
        bits = np.unpackbits(np.frombuffer(numbers, dtype=np.uint8).reshape(self.classes, 8), axis=1)
        return torch.from_numpy((bits - 0.5) / 4)

    @property
    def beta(self) -> Tensor:
        while self._beta is None:
            check_precision(self.total.G.device)
            try:
                self._beta = self._solved()
            except NumericalError:
                if self.config.ridge is not None or self.ridge > LARGEST_RIDGE:
                    raise
                # Samples that are nearly equal round alike, and leave more in G than the choice allows for.
                self._ridge = RAISED * self.ridge
        return self._beta

    def _solved(self) -> Tensor:
        """Return β = (G + αI)⁻¹Q for the ridge in use."""
        keeps_factor = self._keeps_factor and self.class_weight is None
        at_once = keeps_factor and self._is_thinned and self._is_few(WORTH_A_FACTOR)
        space = None if at_once else self._row_space
        total = self.reweighted(self.total if space is None else space[1])
        alpha = absolute_ridge(total.G, self.ridge, total.features)
        if self.config.ridge is not None:
            check_ridge(total.G, alpha)
        if space is not None:
            return space[0] @ solve(total.G, total.Q, alpha)
        if keeps_factor:
            # In the precision of G, since later updates of β are not corrected.
            self._inverse = UpdatedInverse(factor(total.G, alpha))
            return solve_by(self._inverse.lower, total.G, total.Q, alpha)
        return solve(total.G, total.Q, alpha)

    @cached_property
    def _row_space(self) -> tuple[Tensor, Statistics] | None:
        return row_space(self.total, self._is_thinned)

    @property
    def _is_thinned(self) -> bool:
        """Whether the held-out statistics have only some of the features."""
        return self.held.width < self.width

    def _parts(self) -> tuple[Statistics, Statistics]:
        """Return the statistics to fit with and the held-out ones, with the weights of the classes."""
        space = None if self._is_thinned else self._row_space
        held = self.held if space is None else self.held.reduced(space[0])
        fitting = self.fitting if space is None else space[1].without(held)
        return self.reweighted(fitting), self.reweighted(held)

    # ------------------------------------------------------------------ learning

    def learn(self, task: Task, commit: Callable[[DecisionLayer], None], report: Report | None = None) -> None:
        """Count a task: in place where that saves much, else aside, so that Ctrl-C leaves the layer as it was."""
        self.total.check_whole()
        if self.classes and self._is_few(task.samples) and task.in_memory:
            ((V, y, held, weights),) = task.blocks()  # few samples are one block
            with uninterrupted():
                self.update(V, y, held, task.classes, weights)
                commit(self)
            return
        self._keeps_factor = False
        in_place = self.classes and self.width >= UPDATE_WIDTH and task.in_memory and task.samples <= IN_PLACE
        if in_place and self._learn_in_place(task, commit):
            return
        aside = self._counted_aside(task)
        with uninterrupted():
            if self.classes:
                self.merge(aside, torch.arange(task.classes, device=aside.total.counts.device), task.classes)
                commit(self)
            else:
                commit(aside)

    def update(self, V: Tensor, y: Tensor, held: Tensor, classes: int, weights: Tensor | None = None) -> None:
        """Add a few samples in place. Where a factor is kept, β is updated with a few products."""
        inverse, beta, ridge = self._inverse, self._beta, self._ridge
        rows = Rows(V, y, weights).scaled
        if inverse is not None and beta is not None and self._is_fresh(inverse, rows):
            beta = pad(beta, (0, classes - beta.shape[1]))
            targets = one_hot(y, classes, beta.dtype)
            targets = targets if weights is None else targets * weights.sqrt().to(targets.dtype)[:, None]
            beta = beta + inverse.grow(rows).to(beta.dtype) @ (targets - rows @ beta)
        else:
            inverse = beta = ridge = None
        self.grow(classes)
        self.add(V, y, held, weights)
        self._beta, self._inverse, self._ridge = beta, inverse, ridge
        self._keeps_factor = True

    def _is_few(self, samples: int) -> bool:
        """Return whether `update` is the faster way to add this many samples."""
        return self.width >= UPDATE_WIDTH and samples <= min(FEW, NEW_SHARE * self.total.samples)

    def _is_fresh(self, inverse: UpdatedInverse, V: Tensor) -> bool:
        """Return whether the factor may serve for these samples, too: few are new, and α hardly moves."""
        new = inverse.trace + float(V.double().square().sum())
        return self._is_few(inverse.rows + len(V)) and new <= NEW_SHARE * (self.total.trace - inverse.trace)

    def _counted_aside(self, task: Task) -> Analytic:
        aside = self.empty()
        aside.grow(task.classes)
        for block in task.blocks():
            aside.add(*block)
        task.check()
        return aside

    def _learn_in_place(self, task: Task, commit: Callable[[DecisionLayer], None]) -> bool:
        """Count a task without a second G. Undo it after Ctrl-C, and where its samples are too large (False)."""
        before, most, squares, done, whole = self.classes, IN_PLACE_SQUARES * self.total.trace, 0.0, 0, False
        try:
            self.grow(task.classes)
            for block in task.blocks():
                squares += float(torch.linalg.vector_norm(Rows(block[0], block[1], block[3]).scaled)) ** 2
                if squares > most:
                    return False
                with uninterrupted():
                    self.add(*block)
                    done += 1
                del block  # its memory serves for the next one
            with uninterrupted():
                commit(self)
                whole = True
        finally:
            if not whole and self.total.whole:
                with uninterrupted():
                    for block in islice(task.blocks(), done):
                        self.subtract(*block)
                    self.keep(torch.arange(before, device=self.total.counts.device))
        return True

    # ------------------------------------------------------------------ forgetting and merging

    def forget(self, task: Task, commit: Callable[[DecisionLayer, list[int]], None]) -> None:
        """Remove samples that were learned, all of them or, after an error, none."""
        aside = self._counted_aside(task)
        left = (self.total.counts > aside.total.counts).nonzero().flatten()
        if len(left) == 0:
            commit(self.empty(), [])  # not even rounding errors are left
            return
        if bool((aside.held.counts > self.held.counts).any()):
            raise InputError("Some of the samples to forget were never learned; give only learned samples.")
        if bool((aside.total.weights > self.total.weights * (1 + ROUNDINGS_OF_WEIGHTS)).any()):
            raise InputError("The samples to forget weigh more than all that were learned; give their own weights.")
        self._check_precision_left(aside.total.trace)
        for part, gone in ((self.total, aside.total), (self.held, aside.held)):
            lost = part.weights - gone.weights < ROUNDINGS_OF_WEIGHTS * part.weights
            if bool((lost & (part.counts > gone.counts)).any()):
                raise _lost_in_rounding()
        self._check_rest(aside.total)
        with uninterrupted():
            with self._changing():
                self.total.take_out(aside.total)
                self.held.take_out(aside.held)
                self.keep(left)
            commit(self, left.tolist())

    def forget_class(self, column: int, commit: Callable[[DecisionLayer, list[int]], None]) -> None:
        check_precision(self.total.G.device)
        left = [other for other in range(self.classes) if other != column]
        if not left:
            commit(self.empty(), [])
            return
        self._check_precision_left(
            float(self.total.Q[:, column].double().square().sum() / self.total.weights[column])
        )
        with uninterrupted():
            with self._changing():
                self.total.drop(column)
                self.held.drop(column)
            self._changed()
            commit(self, left)

    def merge(self, other: DecisionLayer, columns: Tensor, classes: int) -> None:
        self.total.check_whole()
        self.grow(classes)
        with self._changing():
            self.total.merge(other.total, columns)
            self.held.merge(other.held, columns)
        self._changed()

    def _check_precision_left(self, removed: float) -> None:
        before = self.total.trace
        largest = max(before, self.total.largest)  # forgetting in parts leaves the rounding errors of the whole
        if before - removed < ROUNDINGS_LEFT * torch.finfo(self.total.G.dtype).eps * largest:
            raise _lost_in_rounding()

    def _check_rest(self, gone: Statistics) -> None:
        """Raise an error if G without these samples cannot be a sum of samples.

        A sample that was never learned leaves a negative eigenvalue, unless many learned ones resemble it. Then it
        is noticed by its hash alone (`if2net/membership.py`), or it does little harm.
        """
        slack = ROUNDINGS_OF_REST * rounding(self.total.G, torch.float32)
        rest, space = None, self._row_space
        if space is not None:
            inside = gone.reduced(space[0])
            if inside.trace >= (1 - OUTSIDE) * gone.trace:
                rest = space[1].G - inside.G
        if rest is None:
            rest = self.total.G - gone.G
        if all(cholesky(rest, slack, precision) is None for precision in (rest.dtype, torch.float64)):
            raise InputError(
                "Some of the samples to forget were never learned: what would be left of the model cannot come from "
                "samples. Give only learned samples, in the units in which they were learned; nothing has changed."
            )

    def subtract(self, V: Tensor, y: Tensor, held: Tensor, weights: Tensor | None = None) -> None:
        with self._changing():
            self.total.subtract(V, y, None, weights)
            self.held.subtract(*self._held_part(V, y, held, weights))
        self._changed()

    def keep(self, columns: Tensor) -> None:
        self.total.keep(columns)
        self.held.keep(columns)
        self._changed()

    # ------------------------------------------------------------------ derived values

    def solved_tensors(self) -> Iterator[tuple[str, Tensor]]:
        yield from super().solved_tensors()
        if self._beta is not None:
            yield "beta", self._beta
        if self._ridge is not None:
            yield "ridge", torch.tensor([self._ridge], dtype=torch.float64)

    @classmethod
    def tensor_specs(cls, width: int, classes: int, config: RuleConfig, dtype: torch.dtype) -> TensorSpecs:
        solved = {
            "beta": TensorSpec((width, classes), dtype, needed=False),
            "ridge": TensorSpec((1,), torch.float64, least=torch.finfo(torch.float64).tiny, needed=False),
        }
        return super().tensor_specs(width, classes, config, dtype) | solved

    def restore(self, tensors: dict[str, Tensor]) -> None:
        super().restore(tensors)
        self._beta = tensors.get("beta")
        self._ridge = float(tensors["ridge"]) if "ridge" in tensors else None

    def novelty(self, product: Callable[[Tensor], Product]) -> Novelty:
        check_precision(self.total.G.device)
        # G of k times as many features has k times as large eigenvalues, and the ridge is relative to their mean.
        some = self.total.thinned(self.features)
        ridge = max(self.ridge * self.held.width / self.width, smallest_ridge(some.G))
        order = self.order_for_draws()
        return Novelty.of(some.in_order(order), self.held.in_order(order), ridge, self.features, product)

    def free_share(self) -> float:
        return free_share(projector(self.total.G, absolute_ridge(self.total.G, self.ridge)))

    def _fit_temperature(self) -> float:
        if not 0 < self.held.samples < self.total.samples:
            return super()._fit_temperature()
        check_precision(self.total.G.device)
        # With a β that has not seen the held-out samples: the final β was fitted to them, so its error on them is too
        # small.
        fitting, held = self._parts()
        alpha = absolute_ridge(fitting.G, self.ridge, fitting.features)
        try:
            order = self.order_for_draws()
            return temperature(solve(fitting.G, fitting.Q[:, order], alpha), held.in_order(order))
        except NumericalError:  # nearly everything is held out, and the rest of G is rounding
            return super()._fit_temperature()

    def _changed(self) -> None:
        super()._changed()
        self._beta = self._ridge = self._inverse = None
        vars(self).pop("_row_space", None)


def _lost_in_rounding() -> InputError:
    return InputError(
        "The samples to forget are so much larger than the remaining ones that these would be lost in rounding. "
        "Learn the samples that stay in a new learner, or use dtype='float64' from the start."
    )


class UpdatedInverse:
    """The inverse of M + VᵀV, from the Cholesky factor of M = G + αI and the rows V that came later (Woodbury).

    With W = M⁻¹Vᵀ: (M + VᵀV)⁻¹ = M⁻¹ − W(I + VW)⁻¹Wᵀ.

    >>> M, V = 3 * torch.eye(4), torch.ones(1, 4)
    >>> inverse = UpdatedInverse(torch.linalg.cholesky(M))
    >>> gain = inverse.grow(V)
    >>> torch.allclose((M + V.T @ V) @ gain, V.T)
    True
    """

    def __init__(self, lower: Tensor) -> None:
        self.lower = lower
        self.V: Tensor | None = None
        self.W: Tensor | None = None

    @property
    def rows(self) -> int:
        return 0 if self.V is None else len(self.V)

    @property
    def trace(self) -> float:
        """tr(VᵀV) of the rows that came later."""
        return 0.0 if self.V is None else float(self.V.double().square().sum())

    def grow(self, V: Tensor) -> Tensor:
        """Add rows, and return their gain (M + VᵀV)⁻¹Vᵀ, by which β moves."""
        V = V.to(self.lower.dtype)
        new = apply_inverse(self.lower, V.T)
        rows = V if self.V is None else torch.cat([self.V, V])
        W = new if self.W is None else torch.cat([self.W, new], dim=1)
        inner = rows @ W
        inner.diagonal().add_(1.0)
        gain = new - W @ torch.linalg.solve(inner, rows @ new)
        self.V, self.W = rows, W
        return gain
