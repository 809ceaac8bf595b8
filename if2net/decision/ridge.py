"""β = (G + αI)⁻¹Q through a Cholesky factor, and as accurate as float64 makes it.

The ridge is relative: α = ridge · tr(G)/S, so that it means the same at any width, scale and number of samples. The
factor is a float32 one, which takes half the time and half the memory; what it gets wrong is then seen in float64,
as the residual Q − (G + αI)β, and corrected by the same factor (iterative refinement). `benchmarks/accuracy.py` shows
what that is worth.
"""

from __future__ import annotations

import math
from contextlib import suppress

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.decision.symmetric import cholesky, symmetric_norm, symmetric_product
from if2net.errors import NumericalError

# α must be so many times the rounding of G, or G + αI need not be positive definite.
ROUNDINGS = 4
# How many columns are corrected at a time: what is in float64 stays small beside G.
COLUMNS = 512
# On a CPU a G in float64 gets a float32 factor where it is so wide that this saves more than the corrections take.
WIDE = 4096
# There β is corrected until a correction is so small beside it, each being a tenth of the last at most.
SMALL_ENOUGH = 1e-10


class _DoesNotShrink(Exception):
    """A float32 factor is too far from G + αI for its corrections to lead anywhere."""


def absolute_ridge(G: Tensor, ridge: float) -> float:
    """α = ridge · tr(G)/S, and `ridge` itself where nothing has been learned."""
    mean_diagonal = float(G.diagonal().double().mean())
    return ridge * mean_diagonal if mean_diagonal > 0 else ridge


def rounding(G: Tensor, dtype: torch.dtype) -> float:
    """Of G's largest eigenvalue, which is at most ‖G‖."""
    return torch.finfo(dtype).eps * symmetric_norm(G)


def factor(G: Tensor, alpha: float, dtype: torch.dtype | None = None) -> Tensor:
    """The Cholesky factor of G + αI, for `apply_inverse`: in this precision, or else G's own, or float64 at need."""
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
    """(LLᵀ)⁻¹B by two triangular solves, which unlike `cholesky_solve` do not copy the factor."""
    more = len(lower) - len(B)
    padded = pad(B.to(lower.dtype), (0, 0, 0, more)) if more else B.to(lower.dtype)
    half = torch.linalg.solve_triangular(lower, padded, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)[: len(B)]


def solve(G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    """β = (G + αI)⁻¹Q."""
    wide = len(G) >= WIDE and G.device.type == "cpu"
    if wide and G.dtype == torch.float64 and alpha >= ROUNDINGS * rounding(G, torch.float32):
        with suppress(_DoesNotShrink):
            return solve_by(factor(G, alpha, torch.float32), G, Q, alpha)
    return solve_by(factor(G, alpha), G, Q, alpha)


def solve_by(lower: Tensor, G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    """The same through a factor that is there already."""
    if lower.dtype == torch.float64:
        return apply_inverse(lower, Q).to(Q.dtype)
    return torch.cat([_refined(lower, G, part, alpha) for part in Q.split(COLUMNS, dim=1)], dim=1)


def _refined(lower: Tensor, G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    """β by β ← β + (LLᵀ)⁻¹(Q − (G + αI)β), with the residual in float64.

    Once where G was rounded to float32 itself: what is left then is less than that rounding does.
    """
    beta, before = apply_inverse(lower, Q).double(), math.inf
    while True:
        correction = apply_inverse(lower, Q.double() - symmetric_product(G, beta) - alpha * beta)
        beta += correction
        if G.dtype == torch.float32:
            return beta.to(Q.dtype)
        size = float(correction.norm())
        if size <= SMALL_ENOUGH * float(beta.norm()):
            return beta
        if not size < before / 10:
            raise _DoesNotShrink
        before = size
