"""Symmetric matrices of which only the lower triangle is kept: half the work, and half the memory.

What lies above the diagonal is never read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch
from torch import Tensor

from if2net.products import Halves

# The BLAS of SciPy, loaded later, keeps its threads awake for a while after each call, in the way of torch's own.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

BLOCK = 512
# Tensor cores are so fast that only large blocks keep all of them busy.
BLOCK_OF_HALVES = 1024
ALIGNED = 16


def block_rows(width: int, block: int = BLOCK) -> Iterator[slice]:
    """The block rows of the triangle; the same for the same width, always."""
    for start in range(0, width, block):
        yield slice(start, min(start + block, width))


def zeros(width: int, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """An empty triangle. On a CPU memory that is not written is not taken, so that the upper half costs nothing."""
    G = torch.empty(width, width, dtype=dtype, device=device)
    for rows in block_rows(width):
        G[rows, : rows.stop] = 0
    return G


def add_gram(G: Tensor, V: Tensor, sign: int) -> None:
    """G += ±VᵀV."""
    if G.device.type == "cpu" and G.is_contiguous():
        _add_gram_by_blas(G, V.contiguous(), sign)
        return
    for rows in block_rows(len(G)):
        G[rows, : rows.stop].addmm_(V[:, rows].T, V[:, : rows.stop], alpha=sign)


def add_gram_of_halves(G: Tensor, V: Halves, sign: int) -> None:
    """G += ±VᵀV, the same from tensor cores."""
    for rows in block_rows(len(G), BLOCK_OF_HALVES):
        product = V.gram(rows).mul_(V.unit[:, rows].T)
        G[rows, : rows.stop].addcmul_(product, V.unit[:, : rows.stop], value=sign)


def _add_gram_by_blas(G: Tensor, V: Tensor, sign: int) -> None:
    """By the symmetric rank-k update of BLAS, which torch does not offer."""
    from scipy.linalg import blas  # takes a while, and only those who learn need it

    update = blas.ssyrk if G.dtype == torch.float32 else blas.dsyrk
    # BLAS has columns where torch has rows: its upper triangle is our lower one, and nothing is copied.
    update(sign, V.numpy().T, beta=1.0, c=G.numpy().T, overwrite_c=1, lower=0)


def add_triangle(G: Tensor, other: Tensor, sign: int = 1) -> None:
    """G += ±other."""
    for rows in block_rows(len(G)):
        G[rows, : rows.stop].add_(other[rows, : rows.stop], alpha=sign)


def symmetric_product(G: Tensor, B: Tensor) -> Tensor:
    """G @ B from the lower triangle alone."""
    product = torch.zeros(len(G), B.shape[1], dtype=B.dtype, device=B.device)
    for rows in block_rows(len(G)):
        left = G[rows, : rows.start]
        product[rows] += symmetric(G[rows, rows]) @ B[rows] + left @ B[: rows.start]
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
        # In float64 before they are squared: entries of 1e20 have squares that float32 does not know.
        squares += 2 * G[rows, : rows.start].double().square().sum()
        squares += symmetric(G[rows, rows]).double().square().sum()
    return float(squares.sqrt())


def cholesky(G: Tensor, alpha: float, dtype: torch.dtype) -> Tensor | None:
    """The factor L of G + αI, its lower triangle only; nothing where that is not positive definite.

    Rows and columns of the identity are added up to a round width: products are slower where rows begin at odd
    addresses.
    """
    size = len(G) + -len(G) % ALIGNED
    L = torch.empty(size, size, dtype=dtype, device=G.device)
    for rows in block_rows(len(G)):
        L[rows, : rows.stop] = G[rows, : rows.stop]
    L.diagonal()[: len(G)].add_(alpha)
    L[len(G) :] = 0
    L.diagonal()[len(G) :] = 1
    factorised = _factorise_by_lapack(L) if L.device.type == "cpu" else _factorise_by_blocks(L)
    return L if factorised and bool(torch.isfinite(L.diagonal()).all()) else None


def _factorise_by_lapack(L: Tensor) -> bool:
    """In place. To LAPACK, which counts by columns, a lower triangle by rows is an upper one."""
    from scipy.linalg import lapack  # takes a while, and only those who learn need it

    potrf = lapack.spotrf if L.dtype == torch.float32 else lapack.dpotrf
    return potrf(L.numpy().T, lower=0, overwrite_a=1, clean=0)[1] == 0


def _factorise_by_blocks(L: Tensor) -> bool:
    """In place, by block columns, so that nearly all of it is matrix products."""
    failures = []
    for rows in block_rows(len(L)):
        below = slice(rows.stop, None)
        L[rows.start :, rows].addmm_(L[rows.start :, : rows.start], L[rows, : rows.start].T, alpha=-1)
        corner, failed = torch.linalg.cholesky_ex(L[rows, rows])
        failures.append(failed)  # looked at in the end: on a GPU every look would wait for it
        L[rows, rows] = corner
        L[below, rows] = torch.linalg.solve_triangular(corner.mT, L[below, rows], upper=True, left=False)
    return not torch.stack(failures).any()
