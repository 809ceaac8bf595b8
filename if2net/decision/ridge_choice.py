"""The choice of the ridge on held-out statistics, which keep no samples.

`choose_ridge` looks for the minimum in half decades, then refines it. The held-out errors of all ridges come from one
factorisation (`RidgePath`), or from one eigendecomposition where the layer is narrow (`EigenPath`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from if2net import blas
from if2net.decision.golden_section import golden_section
from if2net.decision.ridge import (
    ROUNDINGS,
    absolute_ridge,
    apply_inverse,
    factor,
    mean_diagonal,
    not_positive_definite,
    rounding,
)
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric, symmetric_product
from if2net.errors import NumericalError

# The ridge where there is nothing to choose it on.
DEFAULT_RIDGE = 1e-3
# The search starts at 10 to this power, since most choices are within reach of it.
FIRST_CENTRE = -2.0
# The bounds of the search.
SMALLEST_RIDGE = {torch.float32: 1e-4, torch.float64: 1e-6}
LARGEST_RIDGE = 1e2
# The squared error prefers a larger ridge than the accuracy does, so the smallest ridge within this factor of the
# least error is taken; `results/encoder.sh` compares it with fixed ridges on held-back training data.
SLACK = 1.025
# The ridge of a wide layer, relative to the one with the least error, which is estimated from some of the features.
# According to `results/innate_widths.py`, the accuracy is highest at a third of it.
SHARE_OF_BEST = 1 / 3
# With fewer held-out samples than this the default is taken.
ENOUGH_HELD_OUT = 10
# The error of β = 0, ‖Y‖²/n.
ERROR_OF_ZERO = 1.0
# Errors below this many roundings count as equal. They are differences between numbers of about 1.
ROUNDINGS_OF_ERROR = 100
# An error counts as at least this many times what the rounding of G may change in it. Where the classes are nearly
# separable, the errors of small ridges are rounding, and would let the choice differ with the order of the samples.
TIMES_ROUNDING = 10
# A path covers this many decades on either side of its centre.
REACH = 1.5
# Golden-section and bisection steps, which find a ridge to five digits.
STEPS_OF_SEARCH = 24
# Lanczos steps: enough for three digits of the error 1.5 decades from the centre, where a step shrinks it by 0.7.
STEPS = 16
# Up to this width an eigendecomposition is faster on a CPU: see benchmarks/ridge_path.py.
NARROW = 128


def choose_ridge(fitting: Statistics, held: Statistics, slack: float = SLACK) -> float:
    """Return the smallest ridge whose β, solved without the held-out samples, fits them nearly as well as the best.

    The search looks at the path around one centre, and goes on from the end of that path while the end is best. It
    always starts at the same centre, so the choice is a function of the statistics alone. A minimum above the error
    of β = 0 does not count, since larger ridges come closer to it: such minima at small ridges are rounding, where
    the held-out samples have features that no other sample has. Then the search goes down from the best ridge to
    where the error exceeds the slack. Errors that may be rounding count as larger ones, so rounding hardly moves the
    choice.
    """
    if not is_enough(held) or fitting.samples == 0:
        return max(DEFAULT_RIDGE, smallest_ridge(fitting.G, fitting.features))
    lowest, highest = math.log10(smallest_ridge(fitting.G, fitting.features)), math.log10(LARGEST_RIDGE)
    centre, seen = max(FIRST_CENTRE, lowest), set[float]()
    while centre <= highest and centre not in seen:
        seen.add(centre)
        try:
            error = _errors_around(centre, fitting, held)
        except NumericalError:  # the ridge is too small for these features
            centre += REACH
            continue
        first, last = max(centre - REACH, lowest), min(centre + REACH, highest)
        best = min((min(first + step / 2, last) for step in range(2 * math.ceil(last - first) + 1)), key=error)
        if abs(best - centre) >= REACH and best not in seen:
            centre = best
            continue
        best = golden_section(error, max(best - 0.5, first), min(best + 0.5, last), STEPS_OF_SEARCH)
        if error(best) < ERROR_OF_ZERO or max(seen) + REACH > highest:
            least = ROUNDINGS_OF_ERROR * torch.finfo(fitting.G.dtype).eps
            return 10.0 ** _smallest_good(error, best, first, slack * max(error(best), least), fitting, held)
        centre = max(seen) + REACH
    return DEFAULT_RIDGE


def is_enough(held: Statistics) -> bool:
    """Return whether the held-out samples are enough. Fifty weights of 0.2 are, however their sum is rounded."""
    return held.weight > ENOUGH_HELD_OUT - 1e-6


def choose_wide_ridge(fitting: Statistics, held: Statistics, G: Tensor) -> float:
    """Return the ridge for all features, whose Gram matrix is G, from statistics of some of them.

    More features need a larger ridge. The best one grows roughly with the root of their number
    (`results/innate_widths.py`), so the best for some of them can be ten times too small for all.
    """
    best = choose_ridge(fitting, held, slack=1.0)
    return max(SHARE_OF_BEST * best * math.sqrt(len(G) / held.width), smallest_ridge(G))


def _errors_around(centre: float, fitting: Statistics, held: Statistics) -> Callable[[float], float]:
    """Return the held-out error as a function of log10(ridge), good within reach of the centre."""
    path = ridge_path(fitting, held, absolute_ridge(fitting.G, 10.0**centre, fitting.features))

    def error(place: float) -> float:
        alpha = absolute_ridge(fitting.G, 10.0**place, fitting.features)
        return max(path.error(alpha), TIMES_ROUNDING * path.rounding(alpha))

    return cache(error)


def _smallest_good(
    error: Callable[[float], float], good: float, first: float, most: float, fitting: Statistics, held: Statistics
) -> float:
    """Return the lowest place below `good` at which the error is at most `most`. The path ends at `first`."""
    while good > first:
        bad = max(good - 0.5, first)
        if error(bad) > most:
            for _ in range(STEPS_OF_SEARCH):
                middle = (bad + good) / 2
                bad, good = (bad, middle) if error(middle) <= most else (middle, good)
            return good
        good = bad
    lowest = math.log10(smallest_ridge(fitting.G, fitting.features))
    if first <= lowest:
        return lowest
    try:
        error = _errors_around(first, fitting, held)
    except NumericalError:  # smaller ridges do not make G positive definite
        return first
    return _smallest_good(error, first, max(first - REACH, lowest), most, fitting, held)


def smallest_ridge(G: Tensor, features: int | None = None) -> float:
    """Return the smallest relative ridge whose α is above the rounding of G."""
    mean = mean_diagonal(G, features)
    above_rounding = ROUNDINGS * rounding(G, G.dtype) / mean if mean > 0 else 0.0
    return max(SMALLEST_RIDGE[G.dtype], above_rounding)


def ridge_path(fitting: Statistics, held: Statistics, centre: float) -> RidgePath | EigenPath:
    """Return the path that is faster at this width."""
    narrow = fitting.width <= NARROW and fitting.G.device.type == "cpu"
    return (EigenPath if narrow else RidgePath)(fitting, held, centre)


class RidgePath:
    """Held-out errors of β(α) = (G + αI)⁻¹Q for any α, at the cost of one factorisation.

    With M = G + α₀I the system is (I + (α − α₀)M⁻¹)β = M⁻¹Q. The Krylov space of M⁻¹ and M⁻¹q does not depend on α,
    so a few Lanczos steps for each column q give K and a tridiagonal T with M⁻¹K ≈ KT, and then
    β(α) ≈ ‖M⁻¹q‖ K(I + (α − α₀)T)⁻¹e₁ for every α at once. It is exact at α₀, and good within two decades of it.
    """

    def __init__(self, fitting: Statistics, held: Statistics, centre: float) -> None:
        self.centre = centre
        lower = factor(fitting.G, centre)
        start = apply_inverse(lower, fitting.Q)
        self.length = start.norm(dim=0)
        self.K, self.T = _lanczos(lower, start, min(STEPS, fitting.width))
        # Every held-out error follows from KᵀG_hK and KᵀQ_h.
        flat = self.K.flatten(end_dim=1).to(held.G.dtype)
        product = symmetric_product(held.G, flat.T).T.reshape(self.K.shape).to(self.K.dtype)
        self.curvature = (self.K @ product.mT).double()
        self.slope = torch.linalg.vecdot(self.K, held.Q.T[:, None].to(self.K.dtype)).double()
        self.weight = held.weight
        z = self.coordinates(centre)
        fitted = torch.einsum("ci,cis->sc", z.to(product.dtype), product)
        u = apply_inverse(lower, fitted - held.Q.to(product.dtype))
        self.moved = centre * _moved_by_rounding(fitting.G, u, z.T)

    def coordinates(self, alpha: float) -> Tensor:
        """Return z with β(α) ≈ Kz, one row per class."""
        steps = self.T.shape[1]
        identity = torch.eye(steps, dtype=torch.float64, device=self.T.device)
        system = identity + (alpha - self.centre) * self.T.double()
        return torch.linalg.solve(system, self.length.double()[:, None] * identity[0])

    def error(self, alpha: float) -> float:
        """Return ‖V_hβ − Y_h‖²/n_h = (zᵀKᵀG_hKz − 2zᵀKᵀQ_h + n_h)/n_h, summed over the classes."""
        z = self.coordinates(alpha)
        fitted = torch.einsum("ci,cij,cj->", z, self.curvature, z)
        return float(fitted - 2 * (z * self.slope).sum() + self.weight) / self.weight

    def rounding(self, alpha: float) -> float:
        """Return what the rounding of G may change in this error, at most."""
        return self.moved / alpha / self.weight


class EigenPath:
    """The same from G = UΛUᵀ, exact for every α: β(α) = U(Λ + αI)⁻¹UᵀQ."""

    def __init__(self, fitting: Statistics, held: Statistics, centre: float) -> None:
        try:
            values, U = blas.eigen(symmetric(fitting.G).double())
        except torch.linalg.LinAlgError as error:  # G is not finite
            raise not_positive_definite(centre) from error
        if not float(values[0]) + centre > 0:
            raise not_positive_definite(centre)
        self.values = values.clamp(min=0)  # negative ones are rounding
        self.target, self.slope = U.T @ fitting.Q.double(), U.T @ held.Q.double()
        self.curvature = U.T @ symmetric_product(held.G, U)
        self.weight = held.weight
        z = self.target / (self.values + centre)[:, None]
        u = (self.curvature @ z - self.slope) / (self.values + centre)[:, None]
        self.moved = centre * _moved_by_rounding(fitting.G, u, z)

    def error(self, alpha: float) -> float:
        """Return the same as `RidgePath.error`, with z = (Λ + αI)⁻¹UᵀQ."""
        z = self.target / (self.values + alpha)[:, None]
        return float((z * (self.curvature @ z - 2 * self.slope)).sum() + self.weight) / self.weight

    def rounding(self, alpha: float) -> float:
        """Return the same as `RidgePath.rounding`."""
        return self.moved / alpha / self.weight


def _moved_by_rounding(G: Tensor, u: Tensor, beta: Tensor) -> float:
    """Return how much the rounding of G may change the sum of the squared errors.

    A rounding δG changes β by −(G + αI)⁻¹δGβ, and the sum of the squared errors by −2uᵀδGβ with
    u = (G + αI)⁻¹(G_hβ − Q_h), summed over the classes: by at most 2‖δG‖Σ‖u‖‖β‖. In trials it fell like 1/α, so it is
    computed at one ridge. β may be given in any orthonormal basis, since only its lengths count.
    """
    lengths = u.double().norm(dim=0) * beta.double().norm(dim=0)
    return 2 * rounding(G, G.dtype) * float(lengths.sum())


def _lanczos(lower: Tensor, start: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Return K (C × steps × S), whose rows are orthonormal for each column of `start`, and T (C × steps × steps)."""
    width, classes = start.shape
    K = start.new_zeros(classes, steps, width)
    T = start.new_zeros(classes, steps, steps)
    K[:, 0] = _unit(start.T)
    for step in range(steps):
        following = apply_inverse(lower, K[:, step].T).T
        T[:, step, step] = torch.linalg.vecdot(K[:, step], following)
        if step + 1 == steps:
            break
        known = K[:, : step + 1]
        for _ in range(2):  # one orthogonalisation is not enough in float32
            following = following - ((known @ following[..., None]).mT @ known).squeeze(1)
        T[:, step, step + 1] = T[:, step + 1, step] = following.norm(dim=1)
        K[:, step + 1] = _unit(following)
    return K, T


def _unit(rows: Tensor) -> Tensor:
    """Scale rows to length 1. A zero row, where the space is exhausted, stays zero."""
    return rows / rows.norm(dim=1, keepdim=True).clamp(min=torch.finfo(rows.dtype).tiny)
