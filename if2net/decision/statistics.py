"""n, G = VᵀV and Q = VᵀY: the only thing that learning keeps of the data. They add, subtract and merge exactly.

G is symmetric, so only its lower triangle is filled, block row by block row; that is half the work of VᵀV. What
lies above the diagonal blocks is never written and never read: use `symmetric_product` and `symmetric`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

BLOCK = 512


def block_rows(width: int) -> Iterator[slice]:
    """The block rows of the triangle; the same for the same width, always."""
    for start in range(0, width, BLOCK):
        yield slice(start, min(start + BLOCK, width))


def symmetric_product(G: Tensor, B: Tensor) -> Tensor:
    """G @ B from the lower triangle alone."""
    product = torch.zeros(len(G), B.shape[1], dtype=B.dtype, device=B.device)
    for rows in block_rows(len(G)):
        left = G[rows, : rows.start]
        product[rows] += G[rows, rows] @ B[rows] + left @ B[: rows.start]
        product[: rows.start] += left.T @ B[rows]
    return product


def symmetric(G: Tensor) -> Tensor:
    """The whole of G, from its lower triangle."""
    lower = torch.tril(G)
    return lower + torch.tril(lower, -1).T


def symmetric_norm(G: Tensor) -> float:
    """‖G‖ (Frobenius) from the lower triangle alone."""
    squares = G.new_zeros((), dtype=torch.float64)
    for rows in block_rows(len(G)):
        squares += 2 * G[rows, : rows.start].square().sum(dtype=torch.float64)
        squares += G[rows, rows].square().sum(dtype=torch.float64)
    return float(squares.sqrt())


class Statistics:
    """Sufficient statistics of ridge regression onto one-hot labels; with `gram` off only Q and the counts are kept.

    >>> statistics = Statistics(width=3)
    >>> statistics.grow(2)
    >>> V, y = torch.eye(3), torch.tensor([0, 1, 1])
    >>> statistics.add(V, y)
    >>> statistics.counts.tolist(), statistics.samples
    ([1, 2], 3)
    >>> statistics.subtract(V, y)
    >>> bool((statistics.G == 0).all())
    True
    """

    def __init__(
        self,
        width: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        *,
        gram: bool = True,
    ) -> None:
        size = width if gram else 0
        self.G = torch.zeros(size, size, dtype=dtype, device=device)
        self.Q = torch.zeros(width, 0, dtype=dtype, device=device)
        self.counts = torch.zeros(0, dtype=torch.int64, device=device)

    @property
    def width(self) -> int:
        return len(self.Q)

    @property
    def classes(self) -> int:
        return self.Q.shape[1]

    @property
    def samples(self) -> int:
        return int(self.counts.sum())

    def grow(self, classes: int) -> None:
        """Make room for classes that have appeared: Q gets columns of zeros."""
        more = classes - self.classes
        if more > 0:
            self.Q = torch.cat([self.Q, self.Q.new_zeros(self.width, more)], dim=1)
            self.counts = torch.cat([self.counts, self.counts.new_zeros(more)])

    def keep(self, columns: Tensor) -> None:
        """Keep these classes only; what the others had must have been subtracted."""
        self.Q, self.counts = self.Q[:, columns].contiguous(), self.counts[columns]

    def add(self, V: Tensor, y: Tensor) -> None:
        self._count(V, y, 1)

    def subtract(self, V: Tensor, y: Tensor) -> None:
        self._count(V, y, -1)

    def merge(self, other: Statistics, columns: Tensor) -> None:
        """Add another learner's statistics; its class k is column columns[k] here."""
        self.G += other.G
        self.Q.index_add_(1, columns, other.Q)
        self.counts.index_add_(0, columns, other.counts)

    def tensors(self, prefix: str) -> Iterator[tuple[str, Tensor]]:
        yield f"{prefix}.G", self.G
        yield f"{prefix}.Q", self.Q
        yield f"{prefix}.counts", self.counts

    def restore(self, prefix: str, tensors: dict[str, Tensor]) -> None:
        self.G, self.Q, self.counts = (tensors[f"{prefix}.{name}"] for name in ("G", "Q", "counts"))

    def _count(self, V: Tensor, y: Tensor, sign: int) -> None:
        if len(V) == 0:
            return
        V = V.to(self.G.dtype)
        for rows in block_rows(len(self.G)):
            self.G[rows, : rows.stop].addmm_(V[:, rows].T, V[:, : rows.stop], alpha=sign)
        self.Q.addmm_(V.T, one_hot(y, self.classes, V.dtype), alpha=sign)
        self.counts += sign * torch.bincount(y, minlength=self.classes)


def one_hot(y: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """Y, N×C."""
    return torch.zeros(len(y), classes, dtype=dtype, device=y.device).scatter_(1, y.unsqueeze(1), 1.0)
