"""The layouts of image data sets, as their publishers distribute them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from if2net.errors import ConfigurationError, InputError
from if2net.images.folders import TESTING, class_folders, images_under, outside_classes
from if2net.study.data.image_files import ByClass, ImageDataset, dataset, split

# Reads the data set of a name from a folder; None if the folder has another layout.
Layout = Callable[[str, Path], ImageDataset | None]


def train_and_test(name: str, folder: Path) -> ImageDataset | None:
    """Read train/CLASS/* and test/CLASS/*; test may be called val, valid or validation."""
    parts = _train_and_test_folders(folder)
    return dataset(name, *map(class_folders, parts)) if parts else None


def _train_and_test_folders(folder: Path) -> list[Path]:
    """Return both folders, or none."""
    testing = [folder / part for part in TESTING if (folder / part).is_dir()]
    return [folder / "train", testing[0]] if (folder / "train").is_dir() and testing else []


def unsplit(training: int | None = None, *inside: str, without: tuple[str, ...] = ()) -> Layout:
    """Return a reader of CLASS/* with our own split; the classes may also be in one of the sub-folders `inside`."""

    def read(name: str, folder: Path) -> ImageDataset | None:
        for part in (*inside, "."):
            if not (folder / part).is_dir():
                continue
            images = {label: paths for label, paths in class_folders(folder / part).items() if label not in without}
            if len(images) > 1:
                return split(name, images, training)
        return None

    return read


def caltech_birds(name: str, folder: Path) -> ImageDataset | None:
    """Read CUB_200_2011 as published: images/CLASS/*, images.txt and train_test_split.txt."""
    for root in (folder, folder / "CUB_200_2011"):
        lists = [root / "images.txt", root / "train_test_split.txt"]
        if all(path.is_file() for path in lists):
            texts = (path.read_text(encoding="utf-8") for path in lists)
            paths, parts = (dict(line.split() for line in text.splitlines()) for text in texts)
            train: dict[str, list[Path]] = {}
            test: dict[str, list[Path]] = {}
            for number, path in paths.items():
                part = train if parts[number] == "1" else test
                part.setdefault(Path(path).parent.name, []).append(root / "images" / path)
            return dataset(name, train, test)
    return None


def tiny_imagenet(name: str, folder: Path) -> ImageDataset | None:
    """Read train/CLASS/images/*, val/images/* and val/val_annotations.txt; the test images have no labels."""
    for root in (folder, folder / "tiny-imagenet-200"):
        annotations = root / "val" / "val_annotations.txt"
        if annotations.is_file():
            test: dict[str, list[Path]] = {}
            for line in annotations.read_text(encoding="utf-8").splitlines():
                image, label = line.split("\t")[:2]
                test.setdefault(label, []).append(root / "val" / "images" / image)
            return dataset(name, class_folders(root / "train"), test)
    return None


def listed_classes(name: str, folder: Path) -> ImageDataset | None:
    """Read train/CLASS/* and val/CLASS/* of ImageNet, for the classes that classes.txt lists."""
    chosen = folder / "classes.txt"
    if not (chosen.is_file() and (folder / "train").is_dir() and (folder / "val").is_dir()):
        return None
    labels = [line.split()[0] for line in chosen.read_text(encoding="utf-8").splitlines() if line.strip()]
    return dataset(name, _chosen(folder / "train", labels), _chosen(folder / "val", labels))


def any_folder(path: Path) -> ImageDataset:
    """Read a user's own images: train/ and test/, or CLASS/* with our own split, four fifths for training."""
    if not path.is_dir():
        raise ConfigurationError(f"The folder {path} does not exist; write folder:PATH-CLASSES/TASKS with its path.")
    images = train_and_test(f"folder:{path}", path) or unsplit()(f"folder:{path}", path)
    if images is None and (alone := list(class_folders(path))):
        raise InputError(f"{path} has images of only one class, {alone[0]!r}; add a folder for a second class.")
    if images is None:
        raise InputError(f"{path} has no sub-folders with images; put the images of each class into one of its own.")
    parts = _train_and_test_folders(path) or [path]
    return replace(images, left_out={file: why for part in parts for file, why in outside_classes(part).items()})


def _chosen(folder: Path, labels: list[str]) -> ByClass:
    if missing := [label for label in labels if not (folder / label).is_dir()]:
        raise InputError(f"{folder} has no folder {missing[0]}, which classes.txt lists; correct the list.")
    return {label: images_under(folder / label) for label in labels}
