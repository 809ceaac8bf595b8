"""β = (G + αI)⁻¹Q through a Cholesky factor.

The ridge is relative: α = ridge · tr(G)/S, so that it means the same at any width, scale and number of samples.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.decision.symmetric import cholesky
from if2net.errors import NumericalError


def absolute_ridge(G: Tensor, ridge: float) -> float:
    """α = ridge · tr(G)/S, and `ridge` itself where nothing has been learned."""
    mean_diagonal = float(G.diagonal().double().mean())
    return ridge * mean_diagonal if mean_diagonal > 0 else ridge


def factor(G: Tensor, alpha: float) -> Tensor:
    """The Cholesky factor of G + αI, for `apply_inverse`; in float64 where G's own precision is not enough."""
    for dtype in dict.fromkeys((G.dtype, torch.float64)):
        lower = cholesky(G, alpha, dtype)
        if lower is not None:
            return lower
    raise NumericalError(
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
    return apply_inverse(factor(G, alpha), Q).to(Q.dtype)
