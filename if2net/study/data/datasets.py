"""The datasets by name, and where each of them is looked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from if2net.errors import ConfigurationError, unknown
from if2net.study.data.idx import read_idx

# Where Debian's package dataset-fashion-mnist and its like install to.
SYSTEM_FOLDER = Path("/usr/share/datasets")
IDX_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


@dataclass(frozen=True)
class Dataset:
    """Samples as rows of numbers in [0, 1], labels 0 to C−1."""

    name: str
    train_X: np.ndarray
    train_y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray
    class_names: tuple[str, ...] = ()  # where the classes are called anything but 0 to C−1
    backbone: dict[str, str | None] | None = None  # of images: its identity, and what it was pre-trained on

    @property
    def classes(self) -> int:
        return int(self.train_y.max()) + 1

    def class_name(self, number: int) -> str:
        return repr(self.class_names[number]) if self.class_names else str(number)


@dataclass(frozen=True)
class Source:
    """What is known of a dataset before it is loaded."""

    summary: str
    licence: str
    load: Callable[[Path | None], Dataset]


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a dataset by name from `folder`, IF2NET_DATA, the system's datasets or the Hugging Face hub."""
    if name not in DATASETS:
        raise unknown("dataset", name, DATASETS)
    chosen = folder or os.environ.get("IF2NET_DATA")
    if folder is not None and not Path(folder).is_dir():
        raise ConfigurationError(f"The data folder {folder} does not exist; give an existing one with --data.")
    return DATASETS[name].load(Path(chosen) if chosen else None)


def _digits(_folder: Path | None) -> Dataset:
    """The 8×8 digits that ship with scikit-learn. It has no official split: every fifth sample is for testing."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype(np.float32)
    test = np.arange(len(y)) % 5 == 4
    return Dataset("digits", X[~test], y[~test], X[test], y[test])


def _idx_dataset(name: str, hub_name: str) -> Callable[[Path | None], Dataset]:
    def load(folder: Path | None) -> Dataset:
        for candidate in _candidates(name, folder):
            files = _idx_files(candidate)
            if files is not None:
                arrays = [read_idx(path) for path in files]
                return Dataset(name, _rows(arrays[0]), _labels(arrays[1]), _rows(arrays[2]), _labels(arrays[3]))
        return _from_hub(name, hub_name)

    return load


def _candidates(name: str, folder: Path | None) -> list[Path]:
    named = [folder / name, folder] if folder else []
    # A folder with bare idx files is taken for the dataset only where it carries its name.
    return [path for path in named if path.name == name or path != folder] + [SYSTEM_FOLDER / name]


def _idx_files(folder: Path) -> list[Path] | None:
    found = []
    for names in IDX_FILES.values():
        for name in names:
            present = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
            if not present:
                return None
            found.append(present[0])
    return found


def _rows(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1).astype(np.float32) / 255.0


def _labels(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64)


def _from_hub(name: str, hub_name: str) -> Dataset:
    """Download by name through Hugging Face `datasets`, an extra."""
    try:
        from datasets import load_dataset as load_from_hub
    except ImportError as error:
        raise ConfigurationError(
            f"The data of {name} was not found. Put its four idx files (train-images-idx3-ubyte.gz and so on) into "
            f"a folder DIR/{name} and give --data DIR or set IF2NET_DATA=DIR; or install Debian's package "
            f"dataset-{name} where there is one; or `pip install 'if2net[hub]'` to download {hub_name}."
        ) from error
    splits = load_from_hub(hub_name)
    train, test = (splits[part].with_format("numpy") for part in ("train", "test"))
    return Dataset(
        name,
        _rows(np.asarray(train["image"])),
        _labels(np.asarray(train["label"])),
        _rows(np.asarray(test["image"])),
        _labels(np.asarray(test["label"])),
    )


DATASETS: dict[str, Source] = {
    "digits": Source("1,797 digits of 8×8 pixels, 10 classes; ships with scikit-learn", "BSD-3-Clause", _digits),
    "mnist": Source(
        "70,000 digits of 28×28 pixels, 10 classes", "CC BY-SA 3.0", _idx_dataset("mnist", "ylecun/mnist")
    ),
    "fashion-mnist": Source(
        "70,000 pieces of clothing of 28×28 pixels, 10 classes",
        "MIT",
        _idx_dataset("fashion-mnist", "zalando-datasets/fashion_mnist"),
    ),
}
