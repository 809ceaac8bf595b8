"""β = (G + αI)⁻¹Q through a Cholesky factor.

The ridge is relative: α = ridge · tr(G)/S, so that it means the same at any width, scale and number of samples.
"""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.errors import NumericalError


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
