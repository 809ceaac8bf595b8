"""β = (G + αI)⁻¹Q through a Cholesky factor, with the accuracy of float64.

The ridge is relative: α = ridge · tr(G)/S means the same at any width, scale and number of samples. The factor is in
float32, which takes half the memory of float64 and, the wider the layer, the less of its time: 0.90 of it at 4,096
features and 0.50 at 10,000 (`benchmarks/accuracy.json`). The residual Q − (G + αI)β is then computed in float64 and
solved by the same factor to correct β (iterative refinement).
`ridge_choice.py` chooses the ridge.
"""

from __future__ import annotations

import math
from contextlib import suppress

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.decision.symmetric import cholesky, symmetric_norm, symmetric_product
from if2net.errors import NumericalError

# α must be at least this many times the rounding of G, or G + αI need not be positive definite.
ROUNDINGS = 4
# Columns corrected at a time, so that the float64 buffers stay small beside G.
COLUMNS = 512
# On a CPU, a float64 G at least this wide gets a float32 factor: narrower, the corrections cost more than it saves.
FLOAT32_FACTOR_WIDTH = 4096
# The corrections of a float64 β stop when one is smaller than this, relative to β.
SMALL_CORRECTION = 1e-10


class _CorrectionsDiverge(Exception):
    """A float32 factor is too far from G + αI for its corrections to converge."""


def mean_diagonal(G: Tensor, features: int | None = None) -> float:
    """Return tr(G)/S, where S is the width of G, or the number of features of which G is the reduced form."""
    return float(G.diagonal().double().mean()) * (len(G) / features if features else 1)


def absolute_ridge(G: Tensor, ridge: float, features: int | None = None) -> float:
    """Return α = ridge · tr(G)/S, or `ridge` where nothing has been learned."""
    mean = mean_diagonal(G, features)
    return ridge * mean if mean > 0 else ridge


def rounding(G: Tensor, dtype: torch.dtype) -> float:
    """Return the rounding error of G's largest eigenvalue, which is at most ‖G‖."""
    return torch.finfo(dtype).eps * symmetric_norm(G)


def check_ridge(G: Tensor, alpha: float) -> None:
    """Raise an error where a given α is below the rounding of G: the answers would be meaningless."""
    least = rounding(G, G.dtype)
    if alpha < least:
        times = max(2, math.ceil(least / alpha))
        raise NumericalError(
            f"The ridge is too small for these features: α = {alpha:.3g} is below the rounding of G, "
            f"{least:.3g}. Give a ridge {times:,} times as large, or None to have it chosen, "
            "or use dtype='float64'."
        )


def factor(G: Tensor, alpha: float, dtype: torch.dtype | None = None) -> Tensor:
    """Return the Cholesky factor of G + αI in the given precision (default: that of G), or in float64 if it fails."""
    for precision in dict.fromkeys((dtype or G.dtype, torch.float64)):
        lower = cholesky(G, alpha, precision)
        if lower is not None:
            return lower
    raise not_positive_definite(alpha)


def not_positive_definite(alpha: float) -> NumericalError:
    return NumericalError(
        f"G + αI is not positive definite at α = {alpha:.3g}: the features are too nearly dependent for this "
        "ridge. Give a larger ridge (for example ridge=1e-2), or use dtype='float64'."
    )


def apply_inverse(lower: Tensor, B: Tensor) -> Tensor:
    """Return (LLᵀ)⁻¹B by two triangular solves, which unlike `cholesky_solve` do not copy the factor."""
    more = len(lower) - len(B)
    padded = pad(B.to(lower.dtype), (0, 0, 0, more)) if more else B.to(lower.dtype)
    half = torch.linalg.solve_triangular(lower, padded, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)[: len(B)]


def solve(G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    """Return β = (G + αI)⁻¹Q."""
    wide = len(G) >= FLOAT32_FACTOR_WIDTH and G.device.type == "cpu"
    if wide and G.dtype == torch.float64 and alpha >= ROUNDINGS * rounding(G, torch.float32):
        with suppress(_CorrectionsDiverge):
            return solve_by(factor(G, alpha, torch.float32), G, Q, alpha)
    return solve_by(factor(G, alpha), G, Q, alpha)


def solve_by(lower: Tensor, G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    """Return β = (G + αI)⁻¹Q, given the factor of G + αI."""
    if lower.dtype == torch.float64:
        return apply_inverse(lower, Q).to(Q.dtype)
    return torch.cat([_refined(lower, G, part, alpha) for part in Q.split(COLUMNS, dim=1)], dim=1)


def _refined(lower: Tensor, G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    """Correct β by β ← β + (LLᵀ)⁻¹(Q − (G + αI)β), with the residual in float64.

    One correction is enough where G is in float32: the error left is below the rounding of G itself.
    """
    beta, before = apply_inverse(lower, Q).double(), math.inf
    while True:
        correction = apply_inverse(lower, Q.double() - symmetric_product(G, beta) - alpha * beta)
        beta += correction
        if G.dtype == torch.float32:
            return beta.to(Q.dtype)
        size = float(correction.norm())
        if size <= SMALL_CORRECTION * float(beta.norm()):
            return beta
        if not size < before / 10:
            raise _CorrectionsDiverge
        before = size
