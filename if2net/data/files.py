"""Image files with labels: what an image dataset is before a backbone turns it into rows of numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from if2net.data.images import SUFFIXES
from if2net.errors import InputError

# Of a dataset without a split of its own: the seed of ours, and the share that is learned from.
SPLIT_SEED = 0
TRAINING_SHARE = 0.8
# Endings of what often lies among images and is none; nobody misses it.
NO_IMAGES = (".txt", ".md", ".json", ".xml", ".csv", ".ini", ".db")


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


def class_folders(folder: Path) -> dict[str, list[Path]]:
    """The images under every sub-folder, by the sub-folder's name; sorted, so that every machine sees one order."""
    return {part.name: images for part in _sub_folders(folder) if (images := images_under(part))}


def without_images(folder: Path) -> list[Path]:
    """The sub-folders that hold files, none of which is an image of a known kind."""
    parts = [part for part in _sub_folders(folder) if not images_under(part)]
    return [part for part in parts if any(_files_under(part))]


def passed_over(folder: Path) -> dict[Path, str]:
    """Files that no class takes in, and why: images beside the classes' folders, and unknown kinds inside them."""
    beside = [path for path in sorted(folder.iterdir()) if path.is_file() and _is_image(path)]
    found = {path: f"{path} lies in no class's folder; put it into one." for path in beside}
    for part in _sub_folders(folder):
        if images_under(part):
            found |= unknown_under(part)
    return found


def unknown_under(folder: Path) -> dict[Path, str]:
    """Files that may be images, but of no kind that can be read; and a sentence on each."""
    unknown = [path for path in _files_under(folder) if path.suffix.lower() not in (*SUFFIXES, *NO_IMAGES)]
    return {
        path: f"{path} has no ending of an image that can be read; rename or convert it." for path in sorted(unknown)
    }


def _sub_folders(folder: Path) -> list[Path]:
    return [child for child in sorted(folder.iterdir()) if child.is_dir() and not child.name.startswith(".")]


def images_under(folder: Path) -> list[Path]:
    """All images in a folder and the folders inside it, also where these are links; without what is hidden."""
    return sorted(path for path in _files_under(folder) if _is_image(path))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def _files_under(folder: Path) -> Iterator[Path]:
    start = folder.resolve()
    followed: set[Path] = set()

    def leads_on(path: Path) -> bool:
        """A link is followed once, and never to where one comes from: that would have no end."""
        if not path.is_symlink():
            return True
        target = path.resolve()
        known = target in followed or start.is_relative_to(target)
        followed.add(target)
        return not known

    for place, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in sorted(folders) if name[0] != "." and leads_on(Path(place, name))]
        yield from (Path(place, name) for name in files if name[0] != ".")


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
