"""β = (G + αI)⁻¹Q through a Cholesky factor, and the choice of α on held-out statistics.

The ridge is relative: α = ridge · tr(G)/S, so that it means the same at any width, scale and number of samples.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from if2net.decision.statistics import Statistics, symmetric_product
from if2net.errors import NumericalError

# Where the search starts, and what is used where there is nothing to choose it on.
DEFAULT_RIDGE = 1e-3
# Below the smallest, rounding in G is larger than the ridge; above the largest, nothing is learned.
SMALLEST_RIDGE = {torch.float32: 1e-4, torch.float64: 1e-6}
LARGEST_RIDGE = 1e2
# The squared error asks for more ridge than the accuracy does, so the smallest ridge within this factor of the least
# error is taken; `results/encoder.sh` compares it with fixed ridges on validation streams.
SLACK = 1.05
# Fewer held-out samples than this say too little to choose by.
ENOUGH_HELD_OUT = 10


def absolute_ridge(G: Tensor, ridge: float) -> float:
    """α = ridge · tr(G)/S, and `ridge` itself where nothing has been learned."""
    mean_diagonal = float(G.diagonal().double().mean())
    return ridge * mean_diagonal if mean_diagonal > 0 else ridge


def factor(G: Tensor, alpha: float) -> Tensor:
    """The Cholesky factor of G + αI; in float64 where G's own precision is not enough."""
    for dtype in dict.fromkeys((G.dtype, torch.float64)):
        system = G.to(dtype, copy=True)
        system.diagonal().add_(alpha)
        lower, failed = torch.linalg.cholesky_ex(system)
        if not failed.item() and bool(torch.isfinite(lower.diagonal()).all()):
            return lower
    raise NumericalError(
        f"G + αI is not positive definite at α = {alpha:.3g}: the features are too nearly dependent for this "
        "ridge. Give a larger ridge (for example ridge=1e-2), or use dtype='float64'."
    )


def solve(G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    """β = (G + αI)⁻¹Q."""
    lower = factor(G, alpha)
    return torch.cholesky_solve(Q.to(lower.dtype), lower).to(Q.dtype)


def held_out_error(beta: Tensor, held: Statistics) -> float:
    """‖V_h β − Y_h‖² / n_h = (tr βᵀG_hβ − 2 tr βᵀQ_h + n_h) / n_h, without the samples."""
    fitted = (beta * symmetric_product(held.G, beta)).sum(dtype=torch.float64)
    agreement = (beta * held.Q).sum(dtype=torch.float64)
    return float(fitted - 2 * agreement + held.samples) / held.samples


def choose_ridge(fitting: Statistics, held: Statistics) -> float:
    """The smallest decade whose β, solved without the held-out samples, fits them nearly as well as the best.

    The error is a valley in log α, so the search walks downhill from the default: three or four solves. It always
    starts at the same place, which makes the choice a function of the statistics and of nothing else.
    """
    if held.samples < ENOUGH_HELD_OUT or fitting.samples == 0:
        return DEFAULT_RIDGE
    errors: dict[int, float] = {}

    def error(decade: int) -> float:
        if not SMALLEST_RIDGE[fitting.G.dtype] <= 10.0**decade * 1.01 <= LARGEST_RIDGE * 1.02:
            return math.inf
        if decade not in errors:
            alpha = absolute_ridge(fitting.G, 10.0**decade)
            try:
                errors[decade] = held_out_error(solve(fitting.G, fitting.Q, alpha), held)
            except NumericalError:  # too small a ridge for these features
                errors[decade] = math.inf
        return errors[decade]

    best = round(math.log10(DEFAULT_RIDGE))
    for direction in (-1, 1):
        while error(best + direction) < error(best):
            best += direction
    least = error(best)
    while error(best - 1) <= SLACK * least < math.inf:
        best -= 1
    return 10.0**best
