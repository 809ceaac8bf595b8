"""Products and Cholesky factors in float32 by oneDNN, for processors where only oneDNN uses AVX-512.

oneDNN is part of torch, but torch multiplies float32 matrices with MKL. On an AMD processor, neither MKL nor SciPy's
OpenBLAS uses AVX-512, and oneDNN is faster than both. On an Intel processor, OpenBLAS uses AVX-512 too, and is the
fastest (`benchmarks/products.py`).

oneDNN has matrices of its own. `to_mkldnn` copies a tensor into one, `linear` multiplies it by the transpose of
another matrix, and `to_dense` copies the result back. They are strips of a few rows here: the memory of a small
tensor is used again, where that of a large one is taken from the system each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import torch
from threadpoolctl import threadpool_info
from torch import Tensor
from torch.nn.functional import linear, pad

from if2net.strip_threads import ForEach, strip_threads

STRIP = 256
# Columns of a Cholesky factor that are computed at once.
PANEL = 512
# Samples that are added up at once. Longer sums are hardly faster, and round more.
TERMS = 1024
# Samples are padded with zeros to a multiple of this. oneDNN keeps compiled code for every size that it has seen.
ROUND = 128

# Kernels of OpenBLAS that use AVX-512, as threadpoolctl names them.
AVX512_KERNELS = {"SkylakeX", "Cooperlake", "SapphireRapids"}


@cache
def is_fastest() -> bool:
    """Return whether oneDNN uses AVX-512 and SciPy's OpenBLAS does not. Otherwise OpenBLAS is faster."""
    if not torch.backends.mkldnn.is_available() or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    return not set(openblas_kernels()) & AVX512_KERNELS


def openblas_kernels() -> list[str]:
    """Return the processors whose kernels OpenBLAS has chosen, in SciPy and, if it was imported, in NumPy."""
    from scipy.linalg import blas  # noqa: F401  threadpoolctl sees libraries that are loaded

    libraries = threadpool_info()
    return sorted({library["architecture"] for library in libraries if library["internal_api"] == "openblas"})


def multiplier(B: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the function A ↦ AB, with B prepared once.

    >>> multiplier(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))(torch.ones(1, 2)).tolist()
    [[4.0, 6.0]]
    """
    right = B.T.contiguous()

    def multiply(A: Tensor) -> Tensor:
        with strip_threads() as for_each:
            return _product(A, right, for_each)

    return multiply


def add_gram(G: Tensor, V: Tensor, sign: int) -> None:
    """G += ±VᵀV, in the lower triangle and beside the diagonal."""
    with strip_threads() as for_each:
        memory = V.new_empty(len(G) * min(TERMS, _rounded(len(V))))  # taken once: the system is slow to hand it out
        for part in V.split(TERMS) if len(V) else ():
            R = memory[: len(G) * _rounded(len(part))].view(len(G), -1)
            R[:, : len(part)] = part.T
            R[:, len(part) :] = 0
            _add_outer(G, R, sign, for_each)


def factorise(L: Tensor) -> bool:
    """Replace a lower triangle by its Cholesky factor; False where it is not positive definite.

    A block column of the factor is L₂₁ = A₂₁L₁₁⁻ᵀ, and A₂₂ − L₂₁L₂₁ᵀ is left for the columns after it.
    """
    with strip_threads() as for_each:
        for corner in _slices(len(L), PANEL):
            factor, failed = torch.linalg.cholesky_ex(L[corner, corner])
            if failed:
                return False
            L[corner, corner] = factor
            identity = torch.eye(len(factor), dtype=L.dtype, device=L.device)
            inverse = torch.linalg.solve_triangular(factor, identity, upper=False)
            below = _product(L[corner.stop :, corner], inverse, for_each)
            L[corner.stop :, corner] = below
            _add_outer(L[corner.stop :, corner.stop :], below, -1, for_each)
    return True


def _product(A: Tensor, B: Tensor, for_each: ForEach) -> Tensor:
    """Return ABᵀ."""
    product = A.new_empty(len(A), len(B))

    def fill(rows: slice) -> None:
        count = rows.stop - rows.start
        strip = pad(A[rows], (0, 0, 0, _rounded(count) - count))
        product[rows] = linear(strip.to_mkldnn(), B).to_dense()[:count]

    for_each(fill, [*_slices(len(A), STRIP)])
    return product


def _add_outer(G: Tensor, R: Tensor, sign: int, for_each: ForEach) -> None:
    """G += ±RRᵀ, in the lower triangle and beside the diagonal."""

    def add(rows: slice) -> None:
        G[rows, : rows.stop].add_(linear(R[rows].to_mkldnn(), R[: rows.stop]).to_dense(), alpha=sign)

    for_each(add, [*_slices(len(G), STRIP)][::-1])  # the long strips first


def _rounded(rows: int) -> int:
    """Round a number of rows up to a multiple of ROUND."""
    return rows + -rows % ROUND


def _slices(length: int, size: int) -> Iterator[slice]:
    for first in range(0, length, size):
        yield slice(first, min(first + size, length))
