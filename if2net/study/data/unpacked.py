"""Pictures that are no image files: rows of pixels, and CIFAR-100 in its binary version. They are unpacked once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
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

ARCHIVE = "cifar-100-binary"
PARTS = {"train": "train.bin", "test": "test.bin"}
NAMES = "fine_label_names.txt"
# A record holds the number of the coarse class, that of the fine class, then one plane of bytes per colour.
LABELS, COLOURS, SIDE = 2, 3, 32
RECORD = LABELS + COLOURS * SIDE * SIDE


def unpacked(name: str, folder: Path | None = None) -> ImageDataset:
    """Return the pictures of a table such as mnist as files: train/CLASS/* and test/CLASS/*."""
    data = load_dataset(name, folder)
    arrays = (data.train_X, data.train_y, data.test_X, data.test_y)
    target = _target(name, (np.ascontiguousarray(values).data for values in arrays))
    images = layouts.train_and_test(name, fill_folder_once(target, partial(_write_rows, data)))
    if images is None:
        raise InputError(f"{target} does not hold the pictures of {name}; remove the folder.")
    return images


def cifar_binary(name: str, folder: Path) -> ImageDataset | None:
    """Read train.bin, test.bin and fine_label_names.txt in the folder or in cifar-100-binary inside it."""
    for root in (folder, folder / ARCHIVE):
        files = [root / file for file in (*PARTS.values(), NAMES)]
        if all(file.is_file() for file in files):
            target = _target(ARCHIVE, (file.read_bytes() for file in files))
            return layouts.train_and_test(name, fill_folder_once(target, partial(_write_records, root)))
    return None


def _target(name: str, contents: Iterable[bytes | memoryview]) -> Path:
    """Return the folder for the files. A digest in its name lets another version of the data be unpacked again."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return cache_folder() / "unpacked" / f"{name}-{digest.hexdigest()[:16]}"


def _write_rows(data: Dataset, folder: Path) -> None:
    height, width, channels = parse_shape(str(DATASETS[data.name].image_shape))
    digits = len(str(data.classes - 1))  # names of equal length have the order of the numbers
    names = [f"{label:0{digits}}" for label in range(data.classes)]
    for part, X, y in (("train", data.train_X, data.train_y), ("test", data.test_X, data.test_y)):
        pixels = np.rint(255 * X).astype(np.uint8).reshape(-1, height, width, channels)
        _write(folder / part, names, y, (picture.repeat(3 // channels, axis=2) for picture in pixels))


def _write_records(root: Path, folder: Path) -> None:
    names = (root / NAMES).read_text(encoding="utf-8").split()
    if len(set(names)) < len(names) or not all(re.fullmatch(r"\w+", name) for name in names):
        raise InputError(f"{root / NAMES} does not hold the names of the classes; unpack the archive again.")
    for part, file in PARTS.items():
        content = np.fromfile(root / file, np.uint8)
        if len(content) % RECORD or content[1::RECORD].max(initial=0) >= len(names):
            raise InputError(f"{root / file} is not a part of {ARCHIVE}, or is cut short; unpack the archive again.")
        records = content.reshape(-1, RECORD)
        pixels = (record[LABELS:].reshape(COLOURS, SIDE, SIDE).transpose(1, 2, 0) for record in records)
        _write(folder / part, names, records[:, 1], pixels)


def _write(folder: Path, names: Sequence[str], labels: np.ndarray, pictures: Iterable[np.ndarray]) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
    for number, (label, picture) in enumerate(zip(labels, pictures, strict=True)):
        write_image(folder / names[label] / f"{number:07}.png", picture)
