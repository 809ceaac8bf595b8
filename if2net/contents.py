"""The tensors that belong to a model, by name: shape, type and bounds. A file is checked against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ModelFileError

LARGEST = torch.finfo(torch.float64).max


@dataclass(frozen=True)
class Part:
    """One tensor. Its values lie between `least` and `most`, so NaN is refused, and so is infinity by default."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    least: float = -LARGEST
    most: float = LARGEST
    needed: bool = True


Contents = dict[str, Part]


def check(tensors: Mapping[str, Tensor], contents: Contents) -> None:
    """Raise an error unless the tensors are those of `contents`.

    >>> check({"mean": torch.zeros(3)}, {"mean": Part((4,), torch.float32)})
    Traceback (most recent call last):
    if2net.errors.ModelFileError: The tensor mean is torch.float32 of shape (3,), and not torch.float32 of shape (4,).
    """
    for name in contents.keys() | tensors.keys():
        if name not in contents:
            raise ModelFileError(f"The tensor {name} does not belong to the model.")
        part = contents[name]
        if name in tensors:
            _check_part(name, tensors[name], part)
        elif part.needed:
            raise ModelFileError(f"The tensor {name} is missing.")


def _check_part(name: str, tensor: Tensor, part: Part) -> None:
    if (tensor.shape, tensor.dtype) != (part.shape, part.dtype):
        raise ModelFileError(
            f"The tensor {name} is {tensor.dtype} of shape {tuple(tensor.shape)}, and not {part.dtype} of shape "
            f"{part.shape}."
        )
    if tensor.numel():
        lowest, highest = (float(end) for end in torch.aminmax(tensor))
        if not (part.least <= lowest and highest <= part.most):
            raise ModelFileError(f"The tensor {name} holds NaN, infinity or another impossible value.")
