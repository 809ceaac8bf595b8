"""Products and factors for tensors on a CPU: by the library that suits their width.

Wide matrices take oneDNN or SciPy's BLAS and LAPACK: torch has no symmetric update and no factorisation in place, and
its products take longer on an AMD processor. Narrow ones take torch, whose threads can be limited (`threads.py`).
SciPy is slow to import, and predicting does not need it, so it is imported when it is first used.

BLAS stores matrices by columns, and torch by rows. A matrix of torch is therefore its transpose in BLAS, and its
lower triangle is the upper one; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from if2net import onednn, threads

# From this number of columns on, oneDNN's copies cost less than its products save.
WIDE = 1024
# Narrower matrices take torch. SciPy's threads cannot be limited for one thread of the program alone.
WIDE_FOR_SCIPY = 2048


def product(A: Tensor, B: Tensor) -> Tensor:
    """Return AB. On a GPU it is torch's.

    >>> product(torch.ones(1, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[4.0, 6.0]]
    """
    return multiplier(B)(A)


def multiplier(B: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the function A ↦ AB, for many A."""
    if B.device.type == "cpu" and _by_onednn(B):
        return onednn.multiplier(B)
    if B.device.type != "cpu" or B.shape[1] < WIDE_FOR_SCIPY:
        return lambda A: A @ B
    from scipy.linalg import blas

    multiply = blas.sgemm if B.dtype == torch.float32 else blas.dgemm
    right = B.contiguous().numpy().T
    return lambda A: torch.from_numpy(multiply(1.0, right, A.contiguous().numpy().T).T)  # as (BᵀAᵀ)ᵀ


def add_gram(G: Tensor, V: Tensor, sign: int) -> None:
    """G += ±VᵀV, in the lower triangle."""
    if _by_onednn(G):
        onednn.add_gram(G, V, sign)
        return
    if len(G) < WIDE_FOR_SCIPY:
        G.add_(V.T @ V, alpha=sign)  # `addmm_` may add sample by sample, which a large G would not notice
        return
    from scipy.linalg import blas

    update = blas.ssyrk if G.dtype == torch.float32 else blas.dsyrk
    update(sign, V.contiguous().numpy().T, beta=1.0, c=G.numpy().T, overwrite_c=1, lower=0)


def gram(X: Tensor) -> Tensor:
    """Return XᵀX, of which only the lower triangle is valid. On a GPU it is torch's."""
    if X.device.type != "cpu":
        return X.T @ X
    G = X.new_zeros(X.shape[1], X.shape[1])
    add_gram(G, X, 1)
    return G


def factorise(L: Tensor) -> bool:
    """Replace a lower triangle by its Cholesky factor; False where it is not positive definite."""
    if _by_onednn(L):
        return onednn.factorise(L)
    if len(L) < WIDE_FOR_SCIPY:
        factor, failed = torch.linalg.cholesky_ex(L)
        L.copy_(factor)
        return not failed
    from scipy.linalg import lapack

    potrf = lapack.spotrf if L.dtype == torch.float32 else lapack.dpotrf
    return bool(potrf(L.numpy().T, lower=0, overwrite_a=1, clean=0)[1] == 0)


def eigen(A: Tensor) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns.

    On a CPU, one thread computes it: it takes thousands of short loops, and several threads would wait after each.

    >>> eigen(torch.tensor([[1.0, 0.0], [0.0, 3.0]]))[0].tolist()
    [1.0, 3.0]
    """
    with threads.enough_for(0):
        values, vectors = torch.linalg.eigh(A)
    return values, vectors


def _by_onednn(matrix: Tensor) -> bool:
    return matrix.dtype == torch.float32 and matrix.shape[1] >= WIDE and onednn.is_fastest()
