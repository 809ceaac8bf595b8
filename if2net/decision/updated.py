"""(G + αI)⁻¹ for a G that has grown by a few rows since it was factorised: no second factorisation (Woodbury)."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.decision.ridge import apply_inverse

# Beyond so many rows the corrections cost as much as they save.
MOST_ROWS = 128


class UpdatedInverse:
    """The inverse of M + VᵀV from the Cholesky factor of M = G + αI and the rows V that came later.

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
        """Take in rows, and give their gain (M + VᵀV)⁻¹Vᵀ, which moves β: the only columns that are ever wanted."""
        V = V.to(self.lower.dtype)
        new = apply_inverse(self.lower, V.T)
        rows = V if self.V is None else torch.cat([self.V, V])
        W = new if self.W is None else torch.cat([self.W, new], dim=1)
        inner = rows @ W
        inner.diagonal().add_(1.0)
        gain = new - W @ torch.linalg.solve(inner, rows @ new)
        self.V, self.W = rows, W
        return gain
