"""A user's own images as samples to learn or to predict: a folder with a sub-folder for each class, or bare files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path

import numpy as np

from if2net.errors import ConfigurationError, InputError
from if2net.images.backbones.base import Backbone
from if2net.images.extraction import extract
from if2net.images.extractor import Extractor
from if2net.images.files import TESTING, class_folders, images_under, without_images
from if2net.images.read import SUFFIXES
from if2net.progress import Show

# Images in a piece. A learner that is new takes the scale of its inputs from the first one.
PIECE = 4096


@dataclass
class ImageFiles:
    """Image files: going over them gives (paths, X) in pieces, the same ones every time.

    What cannot be read is left out and named in `refused`.
    """

    paths: Sequence[Path]
    extractor: Extractor
    show: Show | None = None
    refused: dict[Path, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[tuple[list[Path], np.ndarray]]:
        for start in range(0, len(self.paths), PIECE):
            piece = [path for path in self.paths[start : start + PIECE] if path not in self.refused]
            found = extract(piece, self.extractor, show=self._shown(start))
            self.refused |= found.refused
            if found.kept.any():
                yield list(compress(piece, found.kept)), found.X
        if len(self.refused) == len(self.paths):
            raise InputError(f"No image could be used: {next(iter(self.refused.values()))}")

    def _shown(self, start: int) -> Show | None:
        show = self.show
        return None if show is None else lambda done, _, text="": show(start + done, len(self.paths), text)


class ImageFolders:
    """Folders with a sub-folder for each class: going over them gives (X, y), where y names the sub-folders.

    Sub-folders in which no file is an image of a known kind are named in `left_out`.
    """

    def __init__(self, folders: Sequence[Path], extractor: Extractor, show: Show | None = None) -> None:
        classes = [_classes(folder, extractor.backbone) for folder in folders]
        self._labels = {path: name for part in classes for name, paths in part.items() for path in paths}
        self.files = ImageFiles(list(self._labels), extractor, show)
        self.left_out = {part: _no_images(part) for folder in folders for part in without_images(folder)}
        self.parts = sum(map(len, classes)) + len(self.left_out)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for paths, X in self.files:
            yield X, np.array([self._labels[path] for path in paths])


def images_to_predict(paths: Sequence[Path], extractor: Extractor, show: Show | None = None) -> ImageFiles:
    """Files; of a folder, all images in it."""
    files = dict.fromkeys(file for path in paths for file in (images_under(path) if path.is_dir() else [path]))
    if not files:
        raise InputError("There are no images to predict; give files, or folders with images in them.")
    return ImageFiles(list(files), extractor, show)


def _no_images(folder: Path) -> str:
    return f"{folder} has no image of a kind that can be read ({', '.join(SUFFIXES)}); convert what is in it."


def _classes(folder: Path, backbone: Backbone) -> dict[str, list[Path]]:
    """The images of every class that can be learned."""
    if not folder.is_dir():
        raise InputError(
            f"{folder} is no folder; give one that exists, with the images of each class in a sub-folder of its own."
        )
    classes = class_folders(folder)
    if not classes:
        raise InputError(f"{folder} has no sub-folders with images; put the images of each class into one.")
    if "train" in classes and not classes.keys().isdisjoint(TESTING):
        raise InputError(f"{folder} has parts to learn from and to test with, not classes; give {folder / 'train'}.")
    if again := sorted(classes.keys() & set(backbone.seen_classes)):
        raise ConfigurationError(
            f"{backbone.name} was trained on {again[0]!r}, which may not be learned again; "
            "leave this class out, or choose another backbone."
        )
    return classes
