"""Products and Cholesky factors in float32 by oneDNN, for processors with AVX-512.

oneDNN is part of torch, which multiplies float32 matrices with MKL nevertheless. On an AMD processor, neither MKL nor
SciPy's OpenBLAS uses AVX-512, and oneDNN takes about half of their time (`benchmarks/products.py`). It also shares
torch's threads. Those of OpenBLAS are others: each kind waits actively for a while, which slows down the other.

oneDNN has matrices of its own. `to_mkldnn` copies a tensor into one, `linear` multiplies one by the transpose of
another, and `to_dense` copies the result back. All of them are blocks here: a copy in the cache costs little, and the
memory of a small tensor is used again, where that of a large one is taken from the system each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import linear

BLOCK = 512


@cache
def is_fast() -> bool:
    """Return whether oneDNN is there and the processor has AVX-512. With AVX2, SciPy's OpenBLAS is faster."""
    return torch.backends.mkldnn.is_available() and torch.backends.cpu.get_cpu_capability() == "AVX512"


def multiplier(B: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the function A ↦ AB, with B prepared once.

    >>> multiplier(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))(torch.ones(1, 2)).tolist()
    [[4.0, 6.0]]
    """
    right = B.T.to_mkldnn()

    def multiply(A: Tensor) -> Tensor:
        product = A.new_empty(len(A), B.shape[1])
        for rows in _blocks(0, len(A)):
            product[rows] = linear(A[rows].to_mkldnn(), right).to_dense()
        return product

    return multiply


def add_gram(G: Tensor, V: Tensor, sign: int) -> None:
    """G += ±VᵀV, in the lower triangle and in the blocks on the diagonal."""
    parts = [(rows, V[:, rows].T.to_mkldnn()) for rows in _blocks(0, len(G))]
    for number, (rows, left) in enumerate(parts):
        for columns, right in parts[: number + 1]:
            G[rows, columns].add_(linear(left, right).to_dense(), alpha=sign)


def factorise(L: Tensor) -> bool:
    """Replace a lower triangle by its Cholesky factor; False where it is not positive definite.

    A block column of the factor is L₂₁ = A₂₁L₁₁⁻ᵀ, and A₂₂ − L₂₁L₂₁ᵀ is left for the columns after it.
    """
    for corner in _blocks(0, len(L)):
        factor, failed = torch.linalg.cholesky_ex(L[corner, corner])
        if failed:
            return False
        L[corner, corner] = factor
        identity = torch.eye(len(factor), dtype=L.dtype, device=L.device)
        inverse = torch.linalg.solve_triangular(factor, identity, upper=False).to_mkldnn()
        parts: list[tuple[slice, Tensor]] = []
        for rows in _blocks(corner.stop, len(L)):
            left = linear(L[rows, corner].to_mkldnn(), inverse)
            L[rows, corner] = left.to_dense()
            parts.append((rows, left))
            for columns, right in parts:
                L[rows, columns].sub_(linear(left, right).to_dense())
    return True


def _blocks(start: int, stop: int) -> Iterator[slice]:
    for first in range(start, stop, BLOCK):
        yield slice(first, min(first + BLOCK, stop))
