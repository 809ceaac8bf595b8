"""Specifications of the tensors in a model file, by name: shape, type and bounds. A file is checked against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ModelFileError

LARGEST = torch.finfo(torch.float64).max


@dataclass(frozen=True)
class TensorSpec:
    """The specification of one tensor.

    Its values lie between `least` and `most`, so NaN is refused, and so is infinity by default.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    least: float = -LARGEST
    most: float = LARGEST
    needed: bool = True


TensorSpecs = dict[str, TensorSpec]


def check(tensors: Mapping[str, Tensor], specs: TensorSpecs) -> None:
    """Raise an error unless the tensors are those of `specs`.

    >>> check({"mean": torch.zeros(3)}, {"mean": TensorSpec((4,), torch.float32)})
    Traceback (most recent call last):
    if2net.errors.ModelFileError: The tensor mean is torch.float32 of shape (3,), and not torch.float32 of shape (4,).
    """
    for name in specs.keys() | tensors.keys():
        if name not in specs:
            raise ModelFileError(f"The tensor {name} does not belong to the model.")
        spec = specs[name]
        if name in tensors:
            _check_one(name, tensors[name], spec)
        elif spec.needed:
            raise ModelFileError(f"The tensor {name} is missing.")


def _check_one(name: str, tensor: Tensor, spec: TensorSpec) -> None:
    if (tensor.shape, tensor.dtype) != (spec.shape, spec.dtype):
        raise ModelFileError(
            f"The tensor {name} is {tensor.dtype} of shape {tuple(tensor.shape)}, and not {spec.dtype} of shape "
            f"{spec.shape}."
        )
    if tensor.numel():
        lowest, highest = (float(end) for end in torch.aminmax(tensor))
        if not (spec.least <= lowest and highest <= spec.most):
            raise ModelFileError(f"The tensor {name} holds NaN, infinity or another impossible value.")
