"""Folders of images: which images they hold, of which classes, and their features in blocks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path

import numpy as np

from if2net.errors import ConfigurationError, InputError
from if2net.images.backbones.base import Backbone
from if2net.images.cache import FeatureCache
from if2net.images.extraction import extract
from if2net.images.extractor import Extractor
from if2net.images.read import SUFFIXES
from if2net.progress import Show

# Images per block. A new learner takes the scale of its inputs from the first block.
BLOCK = 4096
# Names of folders that hold test images rather than a class.
TESTING = ("test", "val", "valid", "validation")
# Suffixes of other files that often lie among images; they are ignored.
NOT_IMAGES = (".txt", ".md", ".json", ".xml", ".csv", ".ini", ".db")


@dataclass
class ImageFiles:
    """The features of image files. Iterating gives (paths, X) in blocks, the same blocks every time.

    Images that cannot be used are skipped. `left_out` names them, with the reason, after the first iteration.
    """

    paths: Sequence[Path]
    extractor: Extractor
    show: Show | None = None  # called when more images are done than ever before, so only during the first iteration
    left_out: dict[Path, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._cache = FeatureCache(self.extractor.identity)  # one for all iterations, because it may be in memory
        self._most_done = -1

    def __iter__(self) -> Iterator[tuple[list[Path], np.ndarray]]:
        for start in range(0, len(self.paths), BLOCK):
            block = [path for path in self.paths[start : start + BLOCK] if path not in self.left_out]
            features = extract(block, self.extractor, self._cache, self._show_from(start))
            self.left_out |= features.left_out
            if features.kept.any():
                yield list(compress(block, features.kept)), features.X
        if all(path in self.left_out for path in self.paths):
            raise InputError(f"No image could be used: {self.left_out[self.paths[0]]}")

    def _show_from(self, start: int) -> Show:
        def show(done: int, _: int | None, /, text: str = "") -> None:
            if self.show is not None and start + done > self._most_done:
                self._most_done = start + done
                self.show(start + done, len(self.paths), text)

        return show


class ImageFolders:
    """Images with labels. Iterating gives (X, y) in blocks, the same blocks every time.

    `left_out` names files and folders that cannot be used, unreadable images after the first iteration.
    """

    def __init__(
        self,
        labels: dict[Path, str],
        extractor: Extractor,
        show: Show | None = None,
        left_out: dict[Path, str] | None = None,
    ) -> None:
        check_unseen(labels.values(), extractor.backbone)
        self.labels = labels
        self.files = ImageFiles(list(labels), extractor, show, {} if left_out is None else left_out)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for paths, X in self.files:
            yield X, np.array([self.labels[path] for path in paths])

    @property
    def left_out(self) -> dict[Path, str]:
        return self.files.left_out

    def counts(self) -> dict[str, int]:
        """Return the number of images per class, without those that were left out."""
        return dict(Counter(label for path, label in self.labels.items() if path not in self.left_out))


def list_classes(folders: Sequence[Path]) -> tuple[dict[Path, str], dict[Path, str]]:
    """Return the images of folders with one sub-folder per class: their labels, and the reasons for other files.

    The labels are the names of the sub-folders.
    """
    labels: dict[Path, str] = {}
    left_out: dict[Path, str] = {}
    owners: dict[Path, Path] = {}  # a folder with images → the given folder that it lies under
    for folder in folders:
        classes = _classes_to_learn(folder)
        labels |= {path: name for name, paths in classes.items() for path in paths}
        places = {place.resolve() for place in {path.parent for paths in classes.values() for path in paths}}
        for place in sorted(places & owners.keys()):
            raise InputError(
                f"The images in {place} lie under two of the given folders, {owners[place]} and {folder}; give each "
                "image once."
            )
        owners |= dict.fromkeys(places, folder)
        left_out |= outside_classes(folder)
    return labels, left_out


def list_images(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """Return the given files and all images inside the given folders, and the reasons for other files in them."""
    files: dict[Path, None] = {}
    left_out: dict[Path, str] = {}
    for path in paths:
        files |= dict.fromkeys(images_under(path) if path.is_dir() else [path])
        left_out |= unknown_under(path) if path.is_dir() else {}
    if not files:
        raise InputError("There are no images to predict; give files, or folders with images in them.")
    return list(files), left_out


def class_folders(folder: Path) -> dict[str, list[Path]]:
    """Return the images under each sub-folder, by its name; sorted, so that the order is reproducible."""
    return {part.name: images for part in _sub_folders(folder) if (images := images_under(part))}


def images_under(folder: Path) -> list[Path]:
    """Return all images in a folder and the folders inside it. Links are followed, hidden files are not read."""
    return sorted(path for path in _files_under(folder) if path.suffix.lower() in SUFFIXES)


def outside_classes(folder: Path) -> dict[Path, str]:
    """Return files and folders that belong to no class, with the reasons.

    These are images beside the folders of the classes, files of unknown formats inside them, and sub-folders without
    a single image.
    """
    left_out = {
        path: f"{path} is not inside the folder of a class; move it into one."
        for path in sorted(folder.iterdir())
        if path.is_file() and path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    }
    for part in _sub_folders(folder):
        if any(_files_under(part)) and not images_under(part):
            left_out[part] = (
                f"{part} has no image of a format that can be read ({', '.join(SUFFIXES)}); convert them."
            )
        else:
            left_out |= unknown_under(part)
    return left_out


def unknown_under(folder: Path) -> dict[Path, str]:
    """Return files that may be images of an unknown format, and folders that cannot be opened, with the reasons."""
    errors: list[OSError] = []
    files = _files_under(folder, errors.append)
    unknown = sorted(path for path in files if path.suffix.lower() not in (*SUFFIXES, *NOT_IMAGES))
    closed = {Path(error.filename): f"{error.filename} cannot be opened ({error.strerror})." for error in errors}
    return {path: f"{path} has no suffix of an image format; rename or convert it." for path in unknown} | closed


def _classes_to_learn(folder: Path) -> dict[str, list[Path]]:
    """Return the images of each class, or raise an error if the folder cannot be learned."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give a folder with one sub-folder of images per class.")
    classes = class_folders(folder)
    if not classes and images_under(folder):
        place = Path(os.path.abspath(folder))  # a path such as `.` has no name
        raise InputError(
            f"{folder} holds images, but no sub-folders. The sub-folders are the classes: give the folder above, "
            f"{place.parent}, or a folder with the sub-folder {place.name} in it."
        )
    if not classes:
        raise InputError(
            f"{folder} has no sub-folders with images; put the images of each class into a sub-folder of its own."
        )
    if "train" in classes and not classes.keys().isdisjoint(TESTING):
        raise InputError(f"{folder} holds training and test images, not classes; give {folder / 'train'}.")
    return classes


def check_unseen(classes: Iterable[object], backbone: Backbone) -> None:
    """Raise an error if the backbone was trained on one of these classes."""
    for name in sorted(set(classes).intersection(backbone.seen_classes), key=str):
        raise ConfigurationError(
            f"{backbone.name} was trained on {name!r}, so this class cannot be learned again; leave it out, or "
            "choose another backbone."
        )


def _sub_folders(folder: Path) -> list[Path]:
    return [child for child in sorted(folder.iterdir()) if child.is_dir() and not child.name.startswith(".")]


def _files_under(folder: Path, on_error: Callable[[OSError], None] | None = None) -> Iterator[Path]:
    start = folder.resolve()
    followed: set[Path] = set()

    def should_enter(path: Path) -> bool:
        """Follow each link once, and none to a folder above, which would never end."""
        if not path.is_symlink():
            return True
        target = path.resolve()
        known = target in followed or start.is_relative_to(target)
        followed.add(target)
        return not known

    for place, folders, files in os.walk(folder, onerror=on_error, followlinks=True):
        folders[:] = [name for name in sorted(folders) if name[0] != "." and should_enter(Path(place, name))]
        yield from (Path(place, name) for name in files if name[0] != ".")
