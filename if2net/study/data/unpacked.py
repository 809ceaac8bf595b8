"""Pictures of a table of pixels as image files, written once: for backbones, which read files."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import numpy as np

from if2net.errors import InputError
from if2net.images.read import write_image
from if2net.output_folders import cache_folder, fill_folder_once
from if2net.pictures import parse_shape
from if2net.study.data import layouts
from if2net.study.data.datasets import DATASETS, Dataset, load_dataset
from if2net.study.data.image_files import ImageDataset


def unpacked(name: str, folder: Path | None = None) -> ImageDataset:
    """Return the pictures of a table such as mnist as files: train/CLASS/* and test/CLASS/*."""
    data = load_dataset(name, folder)
    digest = hashlib.sha256()
    for values in (data.train_X, data.train_y, data.test_X, data.test_y):
        digest.update(np.ascontiguousarray(values).data)
    target = cache_folder() / "unpacked" / f"{name}-{digest.hexdigest()[:16]}"
    images = layouts.train_and_test(name, fill_folder_once(target, partial(_write, data)))
    if images is None:
        raise InputError(f"{target} does not hold the pictures of {name}; remove the folder.")
    return images


def _write(data: Dataset, folder: Path) -> None:
    shape = parse_shape(str(DATASETS[data.name].image_shape))
    digits = len(str(data.classes - 1))  # names of equal length have the order of the numbers
    for part, X, y in (("train", data.train_X, data.train_y), ("test", data.test_X, data.test_y)):
        for label in range(data.classes):
            (folder / part / f"{label:0{digits}}").mkdir(parents=True)
        pixels = np.rint(255 * X).astype(np.uint8).reshape(-1, *shape)
        for number, (picture, label) in enumerate(zip(pixels, y, strict=True)):
            write_image(
                folder / part / f"{label:0{digits}}" / f"{number:07}.png", picture.repeat(3 // shape[2], axis=2)
            )
