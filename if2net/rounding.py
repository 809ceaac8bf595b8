"""Matrices in eight bits, for files that only predict."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.errors import ModelFileError

SCALES = ".scales"
MOST = 127


def rounded(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors with each matrix as int8 and a scale per row; the rest is unchanged.

    The rows differ in size by orders of magnitude: the bias is the last row of a layer's weights. The columns do not.

    >>> small = rounded({"beta": torch.tensor([[1.0, -0.5], [0.0, 0.0]])})
    >>> small["beta"].tolist()
    [[127, -64], [0, 0]]
    >>> exact({**small, "counts": torch.ones(2)})["beta"].round(decimals=2).tolist()
    [[1.0, -0.5], [0.0, 0.0]]
    """
    small = dict(tensors)
    for name, matrix in tensors.items():
        if matrix.ndim == 2 and matrix.is_floating_point():
            scales = matrix.abs().amax(dim=1).clamp(min=torch.finfo(matrix.dtype).tiny * MOST) / MOST
            small |= {name: (matrix / scales[:, None]).round().to(torch.int8), name + SCALES: scales}
    return small


def exact(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors with the matrices that `rounded` has rounded as floating-point numbers again."""
    matrices = {}
    for name, scales in tensors.items():
        if name.endswith(SCALES):
            matrix = tensors.get(name.removesuffix(SCALES), scales)
            if (matrix.ndim, matrix.dtype, scales.shape) != (2, torch.int8, matrix.shape[:1]):
                raise ModelFileError(f"The tensor {name} does not fit its matrix.")
            matrices[name.removesuffix(SCALES)] = matrix.to(scales.dtype) * scales[:, None]
    return {name: tensor for name, tensor in (tensors | matrices).items() if not name.endswith(SCALES)}
