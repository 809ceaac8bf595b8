"""The factor of a G of few samples, whose rank is far below its width."""

from __future__ import annotations

import torch
from torch import Tensor

# Columns taken at a time.
BLOCK = 256
# A column of which less is left, relative to the largest one, is rounding.
NEGLIGIBLE = 1e-12


def factors(G: Tensor, Q: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    """Return L and C with G = LLᵀ and Q = LC, for G = VᵀV and Q = VᵀY with this many rows in V.

    Then (G + λI)⁻¹Q = L(LᵀL + λI)⁻¹C, and LᵀL is only samples × samples. As everywhere, only the lower triangle of G
    is read. The columns of which most is left are taken, a block at a time, until nothing is left.

    >>> V, Y = torch.randn(3, 50, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    >>> G, Q = V.T @ V, V.T @ Y
    >>> L, C = factors(G, Q, samples=3)
    >>> L.shape, torch.allclose(L @ L.T, G), torch.allclose(L @ C, Q)
    (torch.Size([50, 3]), True, True)
    """
    from scipy.linalg import lapack

    left = G.diagonal().clone()
    least = NEGLIGIBLE * float(left.max())
    L, pivots = G.new_empty(len(G), 0), torch.empty(0, dtype=torch.int64)
    while L.shape[1] < samples and float(left.max()) > least:
        taken = left.topk(min(BLOCK, samples - L.shape[1])).indices
        rest = _columns(G, taken) - L @ L[taken].T
        # Factorised with pivots, since the columns of a block may depend on each other.
        corner, order, rank, _ = lapack.dpstrf(rest[taken].numpy(), lower=1, tol=least)
        kept = torch.from_numpy(order[:rank]).long() - 1
        corner = torch.from_numpy(corner[:rank, :rank]).tril()
        new = torch.linalg.solve_triangular(corner.T, rest[:, kept], upper=True, left=False)
        left -= new.square().sum(dim=1)
        L, pivots = torch.cat([L, new], dim=1), torch.cat([pivots, taken[kept]])
    return L, torch.linalg.solve_triangular(L[pivots], Q[pivots], upper=False)


def _columns(G: Tensor, taken: Tensor) -> Tensor:
    """Return columns of a symmetric matrix from its lower triangle."""
    below = torch.arange(len(G))[:, None] >= taken
    return torch.where(below, G[:, taken], G[taken].T)
