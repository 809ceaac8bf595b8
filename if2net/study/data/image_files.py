"""Image files with labels: what an image dataset is before a backbone turns it into rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from if2net.errors import InputError

# Of a dataset without a split of its own: the seed of ours, and the share that is learned from.
SPLIT_SEED = 0
TRAINING_SHARE = 0.8


@dataclass(frozen=True)
class Files:
    """Paths of images, and the number of each one's class."""

    paths: tuple[Path, ...]
    labels: np.ndarray

    def of(self, classes: Iterable[int]) -> Files:
        """Those of some classes."""
        mask = np.isin(self.labels, list(classes))
        return Files(tuple(path for path, mine in zip(self.paths, mask, strict=True) if mine), self.labels[mask])


@dataclass(frozen=True)
class ImageDataset:
    """Images for training and testing; class c is called classes[c]."""

    name: str
    classes: tuple[str, ...]
    train: Files
    test: Files


ByClass = Mapping[str, list[Path]]


def dataset(name: str, train: ByClass, test: ByClass) -> ImageDataset:
    """From images by class. Every class must have some of both."""
    classes = tuple(sorted(train))
    odd = sorted(set(train) ^ set(test)) or [label for label in classes if not (train[label] and test[label])]
    if odd:
        raise InputError(
            f"The classes of {name} need images for both training and testing, and {odd[0]!r} lacks one of them; "
            "add images or remove the class."
        )
    return ImageDataset(name, classes, _files(classes, train), _files(classes, test))


def split(name: str, images: ByClass, training: int | None = None) -> ImageDataset:
    """Our own fixed split: `training` images of every class, drawn with a fixed seed, or four fifths of them.

    It depends on the names of the files alone, so it is the same on every machine.
    """
    train: dict[str, list[Path]] = {}
    test: dict[str, list[Path]] = {}
    for label, paths in images.items():
        count = training if training is not None else round(TRAINING_SHARE * len(paths))
        order = np.random.default_rng([SPLIT_SEED, len(paths)]).permutation(len(paths))
        chosen = np.isin(np.arange(len(paths)), order[: min(count, len(paths) - 1)])
        train[label] = [path for path, mine in zip(paths, chosen, strict=True) if mine]
        test[label] = [path for path, mine in zip(paths, chosen, strict=True) if not mine]
    return dataset(name, train, test)


def _files(classes: tuple[str, ...], images: ByClass) -> Files:
    paths = [path for label in classes for path in images[label]]
    labels = [number for number, label in enumerate(classes) for _ in images[label]]
    return Files(tuple(paths), np.array(labels, dtype=np.int64))
