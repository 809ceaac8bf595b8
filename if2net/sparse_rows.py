"""Sparse matrices of SciPy as samples. They become dense block by block, never as a whole.

Tensors of torch must be dense.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from if2net.errors import InputError

# scikit-learn's conventions ask for the first four words.
COMPLEX = "Complex data not supported; give real numbers, such as abs(X)."
# Numbers in a dense block, unless one row has more: 64 MB in float32.
BLOCK = 1 << 24


class SparseRows:
    """A sparse matrix, row by row.

    >>> from scipy.sparse import csr_array
    >>> rows = SparseRows(csr_array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]))
    >>> [block.tolist() for block in rows.split(2)]
    [[[0.0, 1.0], [2.0, 0.0]], [[0.0, 0.0]]]
    """

    def __init__(self, matrix: Any) -> None:
        if len(matrix.shape) != 2:
            raise InputError(f"X must have two dimensions, samples × features, but it has {len(matrix.shape)}.")
        self.matrix = matrix.tocsr()
        try:
            self.matrix.check_format(full_check=True)  # wrong indices would be written outside of a dense block
        except ValueError as error:
            raise InputError(f"X is a damaged sparse matrix ({error}); build it again.") from error
        if np.iscomplexobj(self.matrix.data):
            raise InputError(COMPLEX)
        if self.matrix.dtype not in (np.float32, np.float64):
            self.matrix = self.matrix.astype(np.float64)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self.matrix.shape)

    def __getitem__(self, rows: slice | Tensor) -> SparseRows:
        return SparseRows(self.matrix[rows.numpy() if isinstance(rows, Tensor) else rows])

    def dense(self) -> Tensor:
        """Return all rows as a dense tensor."""
        return torch.from_numpy(self.matrix.toarray())

    def split(self, rows: int) -> Iterator[Tensor]:
        """Yield dense blocks of this many rows."""
        for start in range(0, len(self), rows):
            yield torch.from_numpy(self.matrix[start : start + rows].toarray())


def check_dense(tensor: Tensor, name: str = "X") -> None:
    """Raise an error if a tensor has no array of plain numbers."""
    if tensor.is_nested:
        raise InputError(f"{name} is a nested tensor; give a tensor with rows of one length.")
    if tensor.layout != torch.strided:
        raise InputError(
            f"{name} is a sparse tensor of torch; give a sparse matrix of SciPy, or call {name}.to_dense() first."
        )
    if tensor.is_meta:
        raise InputError(f"{name} is on the device meta, where tensors have no values; give a tensor with values.")
    if tensor.is_quantized:
        raise InputError(f"{name} is a quantized tensor; call {name}.dequantize() first.")


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsr") and hasattr(X, "shape")
