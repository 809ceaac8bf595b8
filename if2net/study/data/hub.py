"""Image data sets from the Hugging Face hub, written once as image files: train/CLASS/* and test/CLASS/*."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError, InputError
from if2net.extras import require
from if2net.images.folders import TESTING
from if2net.output_folders import cache_folder, fill_folder_once
from if2net.study.data import layouts
from if2net.study.data.image_files import ImageDataset

# One suffix serves for all formats, because images are read by their content.
SUFFIX = ".png"
# The label of images whose class is not published.
HIDDEN = -1


def is_installed() -> bool:
    """Return whether the library `datasets` is installed."""
    return importlib.util.find_spec("datasets") is not None


def download(name: str, hub_name: str) -> ImageDataset:
    """Return the data set `hub_name`, downloaded at the first call."""
    target = cache_folder() / "hub" / hub_name.replace("/", "--")
    fill_folder_once(target, lambda temporary: _write(hub_name, temporary))
    images = layouts.train_and_test(name, target) or layouts.unsplit()(name, target / "train")
    if images is None:
        raise InputError(f"{hub_name} has fewer than two classes; choose a data set for classification.")
    return images


def _write(hub_name: str, folder: Path) -> None:
    datasets = require("datasets", "hub", f"Downloading {hub_name} needs the Hugging Face library datasets")
    try:
        splits = datasets.load_dataset(hub_name)
    except Exception as error:  # no internet, no such data set, no permission: the library has many error classes
        raise ConfigurationError(
            f"{hub_name} could not be downloaded from the hub ({error}); check its name and the connection."
        ) from error
    if "train" not in splits:
        raise InputError(f"{hub_name} has no split called train, only {', '.join(splits)}; choose another data set.")
    _write_split(splits["train"], hub_name, datasets, folder / "train")
    for part in TESTING:
        if part in splits and _write_split(splits[part], hub_name, datasets, folder / "test"):
            return


def _write_split(rows: Any, hub_name: str, datasets: Any, folder: Path) -> bool:
    """Write the images of a split; say whether it had any image whose class is published."""
    kinds = rows.features
    images = [column for column, kind in kinds.items() if isinstance(kind, datasets.Image)]
    labels = [column for column, kind in kinds.items() if isinstance(kind, datasets.ClassLabel)]
    if not images or not labels:
        raise InputError(
            f"{hub_name} needs a column of images and one of classes, but has {', '.join(kinds)}; choose another."
        )
    image = images[0]
    label = max(labels, key=lambda column: kinds[column].num_classes)  # fine rather than coarse classes
    names = [re.sub(r"^\.+|[/\\]", "_", text) for text in kinds[label].names]  # names of folders inside this one
    for number, row in enumerate(rows.cast_column(image, datasets.Image(decode=False))):
        if row[label] == HIDDEN:
            continue
        place = folder / names[row[label]]
        place.mkdir(parents=True, exist_ok=True)
        content = row[image]["bytes"] or Path(row[image]["path"]).read_bytes()
        (place / f"{number:07}{SUFFIX}").write_bytes(content)
    return folder.is_dir()
