"""The description of an image data set: files with labels, split into training and test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path

import numpy as np

from if2net.errors import InputError

# For a data set without an official split: the seed of ours, and its share of training images.
SPLIT_SEED = 0
TRAINING_SHARE = 0.8


@dataclass(frozen=True)
class Files:
    """Paths of images, and the number of the class of each."""

    paths: tuple[Path, ...]
    labels: np.ndarray

    def of(self, classes: Iterable[int]) -> Files:
        """Return the files of some classes."""
        chosen = np.isin(self.labels, list(classes))
        return Files(tuple(compress(self.paths, chosen)), self.labels[chosen])


@dataclass(frozen=True)
class ImageDataset:
    """Images for training and testing. The name of class c is classes[c]."""

    name: str
    classes: tuple[str, ...]
    train: Files
    test: Files
    left_out: dict[Path, str] = field(default_factory=dict)  # files and folders that belong to no class, with reasons


ByClass = Mapping[str, list[Path]]


def dataset(name: str, train: ByClass, test: ByClass) -> ImageDataset:
    """Build a data set from images by class. Each class must have training and test images."""
    classes = tuple(sorted(train))
    odd = sorted(set(train) ^ set(test)) or [label for label in classes if not (train[label] and test[label])]
    if odd:
        raise InputError(
            f"The classes of {name} need images for both training and testing, and {odd[0]!r} lacks one of the two; "
            "add images or remove the class."
        )
    return ImageDataset(name, classes, _files(classes, train), _files(classes, test))


def split(name: str, images: ByClass, training: int | None = None) -> ImageDataset:
    """Build a data set with our own split: `training` images per class, or four fifths of them, for training.

    The split is drawn with a fixed seed from the sorted file names, so it is the same on every machine.
    """
    train: dict[str, list[Path]] = {}
    test: dict[str, list[Path]] = {}
    for label, paths in images.items():
        count = training if training is not None else round(TRAINING_SHARE * len(paths))
        order = np.random.default_rng([SPLIT_SEED, len(paths)]).permutation(len(paths))
        chosen = np.isin(np.arange(len(paths)), order[: min(count, len(paths) - 1)])
        train[label] = list(compress(paths, chosen))
        test[label] = list(compress(paths, ~chosen))
    return dataset(name, train, test)


def _files(classes: tuple[str, ...], images: ByClass) -> Files:
    paths = [path for label in classes for path in images[label]]
    labels = [number for number, label in enumerate(classes) for _ in images[label]]
    return Files(tuple(paths), np.array(labels, dtype=np.int64))
