"""Image datasets from the Hugging Face hub, written out once as image files, train/CLASS/* and test/CLASS/*."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError, InputError
from if2net.files import cache_folder, fill_folder_once
from if2net.images.files import TESTING
from if2net.study.data import layouts
from if2net.study.data.image_files import ImageDataset

# Pictures that come as bytes keep them; the readers go by content, so one ending does for all.
ENDING = ".png"
# The label of images whose class is kept secret.
HIDDEN = -1


def is_installed() -> bool:
    return importlib.util.find_spec("datasets") is not None


def download(name: str, hub_name: str, folder: Path | None = None) -> ImageDataset:
    """The dataset `hub_name`, from the files of an earlier download where there are any."""
    target = (folder or cache_folder() / "hub") / hub_name.replace("/", "--")
    fill_folder_once(target, lambda temporary: _write(hub_name, temporary))
    found = layouts.train_and_test(name, target) or layouts.plain()(name, target / "train")
    if found is None:
        raise InputError(f"{hub_name} has fewer than two classes; choose a dataset for classification.")
    return found


def _write(hub_name: str, folder: Path) -> None:
    try:
        import datasets
    except ImportError as error:
        raise ConfigurationError(
            f"Downloading {hub_name} needs Hugging Face's library; install it with `pip install 'if2net[hub]'`."
        ) from error
    try:
        splits = datasets.load_dataset(hub_name)
    except Exception as error:  # no internet, no such dataset, no permission: the library raises many kinds
        raise ConfigurationError(f"{hub_name} could not be downloaded from the hub ({error}).") from error
    if "train" not in splits:
        raise InputError(f"{hub_name} has no training part; it has {', '.join(splits)}.")
    _write_split(splits["train"], hub_name, datasets, folder / "train")
    for part in TESTING:
        if part in splits and _write_split(splits[part], hub_name, datasets, folder / "test"):
            return


def _write_split(rows: Any, hub_name: str, datasets: Any, folder: Path) -> bool:
    """Whether it had any image whose class is known."""
    kinds = rows.features
    images = [column for column, kind in kinds.items() if isinstance(kind, datasets.Image)]
    labels = [column for column, kind in kinds.items() if isinstance(kind, datasets.ClassLabel)]
    if not images or not labels:
        raise InputError(f"{hub_name} has no column of images with a column of classes; it has {', '.join(kinds)}.")
    image = images[0]
    label = max(labels, key=lambda column: kinds[column].num_classes)  # fine rather than coarse classes
    names = [text.replace("/", "_") for text in kinds[label].names]
    for number, row in enumerate(rows.cast_column(image, datasets.Image(decode=False))):
        if row[label] == HIDDEN:
            continue
        place = folder / names[row[label]]
        place.mkdir(parents=True, exist_ok=True)
        content = row[image]["bytes"] or Path(row[image]["path"]).read_bytes()
        (place / f"{number:07}{ENDING}").write_bytes(content)
    return folder.is_dir()
