"""Pictures as users give them, turned into rows of pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from if2net.errors import ConfigurationError, InputError
from if2net.sparse_rows import check_dense

Shape = tuple[int, int, int]  # height, width and channels, which is the order of the values in a row
CHANNELS = (1, 3, 4)


def as_rows(X: Any) -> tuple[Any, Shape | None]:
    """Return pictures as rows of pixels, with their shape. Anything else is returned as it is, with None.

    Arrays are N×H×W or N×H×W×C, tensors N×H×W or N×C×H×W. An alpha channel is left out.

    >>> rows, shape = as_rows(torch.rand(5, 3, 28, 32))
    >>> rows.shape, shape
    (torch.Size([5, 2688]), (28, 32, 3))
    """
    if isinstance(X, list | tuple) and X and isinstance(X[0], np.ndarray | Tensor) and X[0].ndim >= 2:
        X = _stacked(X)
    if isinstance(X, Tensor):
        check_dense(X)
    if not isinstance(X, np.ndarray | Tensor) or X.ndim not in (3, 4):
        return X, None
    if X.ndim == 3:
        X = X[..., None]
    else:
        first, second = (1, 3) if isinstance(X, Tensor) else (3, 1)
        axis = first if X.shape[first] in CHANNELS else second
        if X.shape[axis] not in CHANNELS:
            raise InputError(
                f"Pictures must have 1, 3 or 4 channels, in arrays of N×H×W×C or tensors of N×C×H×W; "
                f"these have the shape {tuple(X.shape)}."
            )
        X = X.movedim(axis, 3) if isinstance(X, Tensor) else np.moveaxis(X, axis, 3)
        X = X[..., :3] if X.shape[3] == 4 else X
    height, width, channels = X.shape[1:]
    if height == 0 or width == 0:
        raise InputError(f"These pictures have no pixels: {height}×{width}; give pictures of at least 1×1.")
    return X.reshape(len(X), height * width * channels), (height, width, channels)


def parse_shape(text: str) -> Shape:
    """Return the shape that a text gives.

    >>> parse_shape("28x28"), parse_shape("32x32x3")
    ((28, 28, 1), (32, 32, 3))
    """
    try:
        height, width, *rest = (int(side) for side in text.lower().split("x"))
        shape = height, width, *(rest or [1])
        if len(shape) == 3 and min(shape) > 0 and shape[2] in (1, 3):
            return shape
    except ValueError:
        pass
    raise ConfigurationError(f"image_shape is written HEIGHTxWIDTH or HEIGHTxWIDTHx3, like 32x32x3, not {text!r}.")


def format_shape(shape: Shape) -> str:
    """Return the text that `parse_shape` reads."""
    return "x".join(str(side) for side in shape)


def check_shape(features: int, shape: Shape) -> None:
    """Raise an error unless rows of this many features are pictures of this shape."""
    if features != math.prod(shape):
        raise InputError(
            f"Pictures of {format_shape(shape)} have {math.prod(shape):,} values, but X has {features:,} features; "
            "give pictures of that shape, or start a new learner with another image_shape."
        )


def check_same_shape(X: Any, shape: Shape | None, wanted: Shape | None) -> None:
    """Raise an error if X, which has pictures of `shape`, does not fit a learner that takes pictures of `wanted`.

    Rows, whose shape is None, are only refused if they are those of a single picture.
    """
    if wanted is None or shape == wanted:
        return
    height, width, channels = wanted
    single = [wanted, (channels, height, width)] if shape else [(height, width)] * (width != math.prod(wanted))
    if tuple(getattr(X, "shape", ())) in single:
        raise InputError("X is a single picture, but the first axis is that of the samples; give X[None].")
    if shape is not None:
        raise InputError(
            f"These pictures are {format_shape(shape)}, but this learner takes pictures of {format_shape(wanted)}; "
            "resize them, or start a new learner."
        )


def _stacked(pictures: list[Any] | tuple[Any, ...]) -> Any:
    try:
        if isinstance(pictures[0], Tensor):
            return torch.stack(list(pictures))
        masked = any(isinstance(picture, np.ma.MaskedArray) for picture in pictures)
        return np.ma.stack(pictures) if masked else np.stack(pictures)  # a mask is kept, so that it can be refused
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError("The pictures differ in size or kind; give arrays, or tensors, of one size.") from error
