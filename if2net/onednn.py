"""Products and Cholesky factors in float32 by oneDNN, for processors with AVX-512.

oneDNN is part of torch, but torch multiplies float32 matrices with MKL. On an AMD processor, neither MKL nor SciPy's
OpenBLAS uses AVX-512, and oneDNN is faster than both (`benchmarks/products.py`). It also shares torch's threads.
Those of OpenBLAS are separate: after a product, the threads of either library wait actively for a while and slow down
the other.

oneDNN has matrices of its own. `to_mkldnn` copies a tensor into one, `linear` multiplies it by the transpose of
another matrix, and `to_dense` copies the result back. They are strips of a few rows here: the memory of a small
tensor is used again, where that of a large one is taken from the system each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import linear

STRIP = 512
# Samples that are added up at once. Longer sums are hardly faster, and round more.
TERMS = 1024


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
        for rows in _strips(len(A)):
            product[rows] = linear(A[rows].to_mkldnn(), right).to_dense()
        return product

    return multiply


def add_gram(G: Tensor, V: Tensor, sign: int) -> None:
    """G += ±VᵀV, in the lower triangle and beside the diagonal."""
    for part in V.split(TERMS):
        _add_outer(G, part.T.contiguous(), sign)


def factorise(L: Tensor) -> bool:
    """Replace a lower triangle by its Cholesky factor; False where it is not positive definite.

    A block column of the factor is L₂₁ = A₂₁L₁₁⁻ᵀ, and A₂₂ − L₂₁L₂₁ᵀ is left for the columns after it.
    """
    for corner in _strips(len(L)):
        factor, failed = torch.linalg.cholesky_ex(L[corner, corner])
        if failed:
            return False
        L[corner, corner] = factor
        if corner.stop < len(L):
            identity = torch.eye(len(factor), dtype=L.dtype, device=L.device)
            inverse = torch.linalg.solve_triangular(factor, identity, upper=False)
            below = multiplier(inverse.T)(L[corner.stop :, corner])
            L[corner.stop :, corner] = below
            _add_outer(L[corner.stop :, corner.stop :], below, -1)
    return True


def _add_outer(G: Tensor, R: Tensor, sign: int) -> None:
    """G += ±RRᵀ, in the lower triangle and beside the diagonal."""
    for rows in _strips(len(G)):
        G[rows, : rows.stop].add_(linear(R[rows].to_mkldnn(), R[: rows.stop]).to_dense(), alpha=sign)


def _strips(height: int) -> Iterator[slice]:
    for first in range(0, height, STRIP):
        yield slice(first, min(first + STRIP, height))
