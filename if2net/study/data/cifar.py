"""CIFAR-100 in its binary version as the authors publish it, unpacked once into image files."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from pathlib import Path

import numpy as np

from if2net.errors import InputError
from if2net.images.read import write_image
from if2net.output_folders import cache_folder, fill_folder_once
from if2net.study.data import layouts
from if2net.study.data.image_files import ImageDataset

ARCHIVE = "cifar-100-binary"
PARTS = {"train": "train.bin", "test": "test.bin"}
NAMES = "fine_label_names.txt"
# A record holds the number of the coarse class, that of the fine class, then one plane of bytes per colour.
LABELS, COLOURS, SIDE = 2, 3, 32
RECORD = LABELS + COLOURS * SIDE * SIDE


def cifar_binary(name: str, folder: Path) -> ImageDataset | None:
    """Read train.bin, test.bin and fine_label_names.txt in the folder or in cifar-100-binary inside it."""
    for root in (folder, folder / ARCHIVE):
        if all((root / file).is_file() for file in (*PARTS.values(), NAMES)):
            target = cache_folder() / "unpacked" / f"{ARCHIVE}-{_digest(root)}"
            return layouts.train_and_test(name, fill_folder_once(target, partial(_unpack, root)))
    return None


def _digest(root: Path) -> str:
    """Return a digest of the content, so that another version of the files is unpacked again."""
    digest = hashlib.sha256()
    for file in (*PARTS.values(), NAMES):
        digest.update((root / file).read_bytes())
    return digest.hexdigest()[:16]


def _unpack(root: Path, folder: Path) -> None:
    names = (root / NAMES).read_text(encoding="utf-8").split()
    if len(set(names)) < len(names) or not all(re.fullmatch(r"\w+", name) for name in names):
        raise InputError(f"{root / NAMES} does not hold the names of the classes; unpack the archive again.")
    for part, file in PARTS.items():
        content = np.fromfile(root / file, np.uint8)
        if len(content) % RECORD or content[1::RECORD].max(initial=0) >= len(names):
            raise InputError(f"{root / file} is not a part of {ARCHIVE}, or is cut short; unpack the archive again.")
        for label in names:
            (folder / part / label).mkdir(parents=True)
        for number, record in enumerate(content.reshape(-1, RECORD)):
            pixels = record[LABELS:].reshape(COLOURS, SIDE, SIDE).transpose(1, 2, 0)
            write_image(folder / part / names[record[1]] / f"{number:07}.png", pixels)
