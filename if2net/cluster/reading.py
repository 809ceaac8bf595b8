"""From the columns of a block to samples: numbers as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from if2net.errors import InputError
from if2net.learner import IF2Net
from if2net.tables import Arrays, Columns, columns_to_learn, features_of, labels_of

# What ray.data.read_images calls the pixels, and where they come from.
IMAGE, PATH = "image", "path"


@dataclass(frozen=True)
class Samples:
    """What can be learned of a block; and of images, which could not be used and why."""

    X: np.ndarray
    y: np.ndarray
    refused: dict[Path, str] = field(default_factory=dict)


class Reader(Protocol):
    """Goes to every worker. Here it must be small; what is heavy is loaded there, once."""

    columns: Columns

    def __call__(self, arrays: Arrays) -> Samples: ...


class Rows:
    """Reads columns of numbers or of vectors."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def __call__(self, arrays: Arrays) -> Samples:
        return Samples(features_of(arrays, self.columns), labels_of(arrays, self.columns))


def rows_to_learn(net: IF2Net, beginning: Arrays, label: str | None) -> Rows:
    """Of a dataset that begins so; an error where it has no labels or needs a backbone."""
    ragged = IMAGE in beginning and beginning[IMAGE].dtype == object
    if ragged or (IMAGE in beginning and beginning.keys() <= {IMAGE, PATH}):
        raise InputError(
            f"The column {IMAGE!r} holds images; say which backbone turns them into features, such as "
            "backbone='efficientnet-lite0'."
        )
    if len(beginning) == 1:
        raise InputError(f"The dataset has no column beside {next(iter(beginning))!r}; add one with the labels.")
    single = all(array.ndim == 1 for array in beginning.values())
    columns = columns_to_learn(list(beginning), label, net.feature_names if single else None)
    assert columns.label is not None
    if beginning[columns.label].ndim > 1:
        raise InputError(
            f"The column {columns.label!r} holds vectors, which are no labels; say with label= which column holds "
            "the classes, or add one."
        )
    return Rows(columns)
