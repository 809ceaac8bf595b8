"""Symmetric matrices stored as their lower triangle, which halves the work. The upper triangle is never read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from if2net import blas
from if2net.accelerate.products import Halves, aligned

BLOCK = 512
# Tensor cores are only busy with large blocks.
BLOCK_OF_HALVES = 1024
# This many rows stay in the cache while they are read twice or converted.
IN_CACHE = 128


def block_rows(width: int, block: int = BLOCK) -> Iterator[slice]:
    """Yield the block rows of the triangle. They depend on the width alone."""
    for start in range(0, width, block):
        yield slice(start, min(start + block, width))


def zeros(width: int, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """Return a zero triangle. On a CPU, memory that is never written is never taken: the upper half is free."""
    if torch.device(device).type != "cpu":
        return torch.zeros(width, width, dtype=dtype, device=device)
    return torch.from_numpy(np.zeros((width, width), dtype=str(dtype).removeprefix("torch.")))


def add_gram(G: Tensor, V: Tensor, sign: int) -> None:
    """G += ±VᵀV."""
    if G.device.type == "cpu" and G.is_contiguous():
        blas.add_gram(G, V, sign)
        return
    for rows in block_rows(len(G)):
        G[rows, : rows.stop].addmm_(V[:, rows].T, V[:, : rows.stop], alpha=sign)


def add_gram_of_halves(G: Tensor, V: Halves, sign: int) -> None:
    """G += ±VᵀV on tensor cores."""
    for rows in block_rows(len(G), BLOCK_OF_HALVES):
        product = V.gram(rows).mul_(V.unit[:, rows].T)
        G[rows, : rows.stop].addcmul_(product, V.unit[:, : rows.stop], value=sign)


def add_triangle(G: Tensor, other: Tensor, sign: int = 1) -> None:
    """G += ±other."""
    for rows in block_rows(len(G)):
        G[rows, : rows.stop].add_(other[rows, : rows.stop], alpha=sign)


def with_outer(G: Tensor, U: Tensor, scales: Tensor) -> Tensor:
    """Return G + U diag(scales) Uᵀ, in the precision of G."""
    result = torch.empty_like(G)
    for rows in block_rows(len(G)):
        outer = (U[rows] * scales) @ U[: rows.stop].T
        result[rows, : rows.stop] = outer.add_(G[rows, : rows.stop])
    return result


def symmetric_product(G: Tensor, B: Tensor) -> Tensor:
    """Return GB, in the precision of B.

    It is computed as (BᵀG)ᵀ, since a few long rows are multiplied faster than many short ones.
    """
    right = B.T.contiguous()
    product = torch.zeros_like(right)
    for rows in block_rows(len(G), IN_CACHE):
        lower = _lower_rows(G, rows, B.dtype)
        product[:, rows].addmm_(right[:, : rows.stop], lower.T)
        lower.diagonal(rows.start).zero_()  # the diagonal has been added already
        product[:, : rows.stop].addmm_(right[:, rows], lower)
    return product.T


def _lower_rows(G: Tensor, rows: slice, dtype: torch.dtype) -> Tensor:
    """Copy these rows up to the diagonal, in the given precision."""
    lower = G[rows, : rows.stop].to(dtype, copy=True)
    lower[:, rows].tril_()
    return lower


def symmetric(G: Tensor) -> Tensor:
    """Return the whole matrix."""
    lower = torch.tril(G)
    return lower + torch.tril(lower, -1).T


def mirror(G: Tensor) -> Tensor:
    """Copy the lower triangle to the upper one in place, and return the matrix."""
    for rows in block_rows(len(G)):
        G[: rows.start, rows] = G[rows, : rows.start].T
        G[rows, rows] = symmetric(G[rows, rows])
    return G


def symmetric_norm(G: Tensor) -> float:
    """Return the Frobenius norm ‖G‖."""
    squares = G.new_zeros((), dtype=torch.float64)
    for rows in block_rows(len(G), IN_CACHE):
        # In float64 before they are squared: the square of 1e20 overflows in float32.
        lower = _lower_rows(G, rows, torch.float64).square_()
        squares += 2 * lower.sum() - lower.diagonal(rows.start).sum()
    return float(squares.sqrt())


def pack(G: Tensor) -> Tensor:
    """Return the lower triangle as one row after another: half the bytes."""
    return torch.cat([G[row, : row + 1] for row in range(len(G))]) if len(G) else G.flatten()


def unpack(packed: Tensor, width: int) -> Tensor:
    """Return the matrix whose lower triangle was packed."""
    G = torch.zeros(width, width, dtype=packed.dtype)
    start = 0
    for row in range(width):
        G[row, : row + 1] = packed[start : start + row + 1]
        start += row + 1
    return G + torch.tril(G, -1).T


def cholesky(G: Tensor, alpha: float, dtype: torch.dtype) -> Tensor | None:
    """Return the lower factor L of G + αI, or None where that is not positive definite.

    L is padded with the identity to a multiple of 16: products are slower where rows begin at odd addresses.
    """
    size = aligned(len(G))
    L = torch.empty(size, size, dtype=dtype, device=G.device)
    for rows in block_rows(len(G)):
        L[rows, : rows.stop] = G[rows, : rows.stop]
    L.diagonal()[: len(G)].add_(alpha)
    L[len(G) :] = 0
    L.diagonal()[len(G) :] = 1
    factorised = blas.factorise(L) if L.device.type == "cpu" else _factorise_by_blocks(L)
    return L if factorised and bool(torch.isfinite(L.diagonal()).all()) else None


def _factorise_by_blocks(L: Tensor) -> bool:
    """Factorise in place by block columns, so that nearly all of the work is matrix products."""
    failures = []
    for rows in block_rows(len(L)):
        below = slice(rows.stop, None)
        L[rows.start :, rows].addmm_(L[rows.start :, : rows.start], L[rows, : rows.start].T, alpha=-1)
        corner, failed = torch.linalg.cholesky_ex(L[rows, rows])
        failures.append(failed)  # read at the end, since each look would make the host wait for the GPU
        L[rows, rows] = corner
        L[below, rows] = torch.linalg.solve_triangular(corner.mT, L[below, rows], upper=True, left=False)
    return not torch.stack(failures).any()
