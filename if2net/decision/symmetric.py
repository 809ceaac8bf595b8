"""Symmetric matrices of which only the lower triangle is kept: half the work, and half the memory.

What lies above the diagonal is never read.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from if2net.accelerate.products import Halves
from if2net.decision.threads import let_torch_rest

BLOCK = 512
# Tensor cores are so fast that only large blocks keep all of them busy.
BLOCK_OF_HALVES = 1024
# So few rows stay in the cache while they are read more than once, or in another precision.
IN_CACHE = 128
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

    let_torch_rest()
    update = blas.ssyrk if G.dtype == torch.float32 else blas.dsyrk
    # BLAS has columns where torch has rows: its upper triangle is our lower one, and nothing is copied.
    update(sign, V.numpy().T, beta=1.0, c=G.numpy().T, overwrite_c=1, lower=0)


def add_triangle(G: Tensor, other: Tensor, sign: int = 1) -> None:
    """G += ±other."""
    for rows in block_rows(len(G)):
        G[rows, : rows.stop].add_(other[rows, : rows.stop], alpha=sign)


def symmetric_product(G: Tensor, B: Tensor) -> Tensor:
    """G @ B from the lower triangle alone, in the precision of B.

    Made as (BᵀG)ᵀ: a few long rows are multiplied faster than many short ones.
    """
    right = B.T.contiguous()
    product = torch.zeros_like(right)
    for rows in block_rows(len(G), IN_CACHE):
        lower = _lower_rows(G, rows, B.dtype)
        product[:, rows].addmm_(right[:, : rows.stop], lower.T)
        lower.diagonal(rows.start).zero_()  # which has been counted
        product[:, : rows.stop].addmm_(right[:, rows], lower)
    return product.T


def _lower_rows(G: Tensor, rows: slice, dtype: torch.dtype) -> Tensor:
    """A copy of these rows up to the diagonal, in any precision."""
    lower = G[rows, : rows.stop].to(dtype, copy=True)
    lower[:, rows].tril_()
    return lower


def symmetric(G: Tensor) -> Tensor:
    """The whole of G, from its lower triangle."""
    lower = torch.tril(G)
    return lower + torch.tril(lower, -1).T


def symmetric_norm(G: Tensor) -> float:
    """‖G‖ (Frobenius) from the lower triangle alone."""
    squares = G.new_zeros((), dtype=torch.float64)
    for rows in block_rows(len(G), IN_CACHE):
        # In float64 before they are squared: entries of 1e20 have squares that float32 does not know.
        lower = _lower_rows(G, rows, torch.float64).square_()
        squares += 2 * lower.sum() - lower.diagonal(rows.start).sum()
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

    let_torch_rest()
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
