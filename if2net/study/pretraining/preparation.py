"""The steps that all backbones of a seed share: load the images, choose the file and read the pixels."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from if2net.errors import InputError
from if2net.images.read import Framing, read_image
from if2net.output_folders import cache_folder, make_folder
from if2net.study.data import ImageDataset, Scenario, load_images
from if2net.study.data.image_datasets import FOLDER

Folder = str | os.PathLike[str] | None  # of the data sets; None for the default
Device = torch.device | str


@dataclass(frozen=True)
class Prepared:
    """A scenario whose backbone is a file, and the images that its training could not use, with the reasons."""

    scenario: Scenario
    left_out: dict[Path, str] = field(default_factory=dict)


def images_of(scenario: Scenario, folder: Folder) -> ImageDataset:
    """Return the images of a scenario. A user's own folder has an absolute path, the same in every working folder."""
    dataset = scenario.dataset
    if dataset.startswith(FOLDER):
        dataset = f"{FOLDER}{Path(dataset.removeprefix(FOLDER)).expanduser().resolve()}"
    return load_images(dataset, folder)


def file_name(dataset: str, classes: int, seed: int) -> str:
    """Return the default name of a backbone file.

    >>> file_name("folder:some/birds", 20, 1)
    'birds-20-1.if2'
    """
    return f"{dataset.rpartition('/')[2].replace(':', '-')}-{classes}-{seed}.if2"


def backbone_path(images: ImageDataset, classes: int, seed: int, prefix: str = "") -> Path:
    """Return the path of a backbone in the cache. For a user's own folder, the name has a digest of its path."""
    path = make_folder(cache_folder() / "backbones") / f"{prefix}{file_name(images.name, classes, seed)}"
    if not images.name.startswith(FOLDER):
        return path
    return path.with_stem(f"{path.stem}-{hashlib.sha256(images.name.encode()).hexdigest()[:8]}")


def training_images(
    images: ImageDataset, classes: list[int], size: int
) -> tuple[np.ndarray, np.ndarray, dict[Path, str]]:
    """Return the training images of some classes as bytes, their labels, and the images that cannot be read.

    A label is an index into `classes`, which are sorted.
    """
    files = images.train.of(classes)
    pixels, kept, left_out = read_images(files.paths, Framing(size, size))
    labels = np.searchsorted(classes, files.labels[kept])
    if unread := [images.classes[number] for label, number in enumerate(classes) if label not in labels]:
        raise InputError(
            f"The classes {', '.join(unread)} have no training image that can be read; repair the images, or remove "
            f"the folders. The first of them: {next(iter(left_out.values()))}"
        )
    return pixels, labels, left_out


def read_images(paths: Sequence[Path], framing: Framing) -> tuple[np.ndarray, np.ndarray, dict[Path, str]]:
    """Return N×size×size×3 bytes, a mask over the paths, and the images that cannot be read, with the reasons."""

    def read(path: Path) -> np.ndarray | str:
        try:
            return read_image(path, framing)
        except InputError as error:
            return str(error)

    with ThreadPoolExecutor() as pool:
        results = list(pool.map(read, paths))
    images = [image for image in results if not isinstance(image, str)]
    kept = np.array([not isinstance(image, str) for image in results], dtype=bool)
    left_out = {path: reason for path, reason in zip(paths, results, strict=True) if isinstance(reason, str)}
    return np.stack(images) if images else np.empty((0, framing.size, framing.size, 3), np.uint8), kept, left_out
