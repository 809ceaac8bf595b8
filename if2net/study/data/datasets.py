"""The data sets of numbers by name, and the places where each of them is looked for."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from if2net.errors import ConfigurationError, InputError, unknown

# The folder that Debian's packages such as dataset-fashion-mnist install to.
SYSTEM_FOLDER = Path("/usr/share/datasets")
LARGEST_IDX = 1 << 28  # bytes; five times the training images of MNIST, and 1 GiB as float32
IDX_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


@dataclass(frozen=True)
class Dataset:
    """Samples as rows of numbers, with labels 0 to C−1."""

    name: str
    train_X: np.ndarray
    train_y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray
    class_names: tuple[str, ...] = ()  # empty where the classes are called 0 to C−1
    backbone: dict[str, str | None] | None = None  # for images: its identity and the data of its pre-training

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.train_y.max()) + 1

    def class_name(self, number: int) -> str:
        """Return the name of a class, for messages."""
        return repr(self.class_names[number]) if self.class_names else str(number)


@dataclass(frozen=True)
class Source:
    """The description of a data set, known before it is loaded."""

    summary: str
    licence: str
    load: Callable[[Path | None], Dataset]
    image_shape: str | None = None  # of rows that are pictures large enough for the innate encoder


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name from `folder`, IF2NET_DATA, the system's folder or the Hugging Face hub."""
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    return DATASETS[name].load(data_folder(folder))


def data_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return this folder, which must exist, or the one that IF2NET_DATA names, if any."""
    if folder is not None and not Path(folder).is_dir():
        raise ConfigurationError(f"The data folder {folder} does not exist; give an existing one.")
    chosen = folder or os.environ.get("IF2NET_DATA")
    return Path(chosen) if chosen else None


def named_folders(name: str, folder: Path | None) -> list[Path]:
    """Return the folder of a data set inside this folder, then this folder itself if it has the same name."""
    return [path for path in (folder / name, folder) if path.name == name] if folder else []


def _digits(_folder: Path | None) -> Dataset:
    """Load the 8×8 digits of scikit-learn. They have no official split: every fifth sample is a test sample."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype(np.float32)
    test = np.arange(len(y)) % 5 == 4
    return Dataset("digits", X[~test], y[~test], X[test], y[test])


def _idx_dataset(name: str, hub_name: str) -> Callable[[Path | None], Dataset]:
    def load(folder: Path | None) -> Dataset:
        for candidate in (*named_folders(name, folder), SYSTEM_FOLDER / name):
            files = _idx_files(candidate)
            if files is not None:
                train, test = (_read_part(*files[start : start + 2]) for start in (0, 2))
                if train[0].shape[1] != test[0].shape[1]:
                    raise InputError(f"The images in {files[0]} and {files[2]} differ in size; get the files again.")
                return Dataset(name, *train, *test)
        return _from_hub(name, hub_name)

    return load


def _idx_files(folder: Path) -> list[Path] | None:
    files = []
    for name in IDX_FILES:
        present = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
        if not present:
            return None
        files.append(present[0])
    return files


def _read_part(images_file: Path, labels_file: Path) -> tuple[np.ndarray, np.ndarray]:
    images, labels = read_idx(images_file), read_idx(labels_file)
    if images.ndim < 2 or not images.size or labels.shape != images.shape[:1]:
        raise InputError(
            f"{images_file} and {labels_file} do not belong together: their shapes are {images.shape} and "
            f"{labels.shape}, and each image needs one label; get the files again."
        )
    return _rows(images), labels.astype(np.int64)


def read_idx(path: Path) -> np.ndarray:
    """Read an idx file of unsigned bytes, the format of MNIST, plain or gzipped."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            start = file.read(4)
            if len(start) < 4 or start[:3] != b"\x00\x00\x08":
                raise InputError(f"{path} is not an idx file of unsigned bytes; get the file again.")
            shape = tuple(int.from_bytes(file.read(4), "big") for _ in range(start[3]))
            size = math.prod(shape)
            # No file is compressed to less than a thousandth: a larger size is refused before memory is taken for it.
            if size > min(LARGEST_IDX, 1032 * path.stat().st_size):
                raise InputError(f"{path} is cut short or too large: its header says {shape}; get the file again.")
            content = file.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be unpacked ({error}); get the file again.") from error
    if len(content) != size:
        raise InputError(f"{path} does not have the size that its header says, {shape}; get the file again.")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _rows(images: np.ndarray) -> np.ndarray:
    return np.divide(images.reshape(len(images), -1), 255, dtype=np.float32)


def _from_hub(name: str, hub_name: str) -> Dataset:
    """Download a data set through the Hugging Face library `datasets`."""
    try:
        from datasets import load_dataset as load_from_hub
    except ImportError as error:
        raise ConfigurationError(
            f"The data of {name} was not found. Put its four idx files (train-images-idx3-ubyte.gz and so on) into "
            f"a folder DIR/{name} and give DIR as the data folder or set IF2NET_DATA=DIR; or install the Debian "
            f"package dataset-{name} if there is one; or `pip install 'if2net[hub]'` to download {hub_name}."
        ) from error
    splits = load_from_hub(hub_name)
    parts = (splits[part].with_format("numpy") for part in ("train", "test"))
    arrays = [(_rows(np.asarray(part["image"])), np.asarray(part["label"]).astype(np.int64)) for part in parts]
    return Dataset(name, *arrays[0], *arrays[1])


DATASETS: dict[str, Source] = {
    "digits": Source("1,797 digits of 8×8 pixels, 10 classes; ships with scikit-learn", "BSD-3-Clause", _digits),
    "mnist": Source(
        "70,000 digits of 28×28 pixels, 10 classes", "CC BY-SA 3.0", _idx_dataset("mnist", "ylecun/mnist"), "28x28"
    ),
    "fashion-mnist": Source(
        "70,000 images of clothing of 28×28 pixels, 10 classes",
        "MIT",
        _idx_dataset("fashion-mnist", "zalando-datasets/fashion_mnist"),
        "28x28",
    ),
}
