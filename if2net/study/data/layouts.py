"""The layouts that image datasets come in, as their publishers or the hub hand them out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from if2net.errors import ConfigurationError, InputError
from if2net.images import files
from if2net.images.files import TESTING, class_folders, images_under
from if2net.study.data.image_files import ByClass, ImageDataset, dataset, split

# A dataset's folder in, the dataset out; None where the folder does not hold this layout.
Layout = Callable[[str, Path], ImageDataset | None]


def train_and_test(name: str, folder: Path) -> ImageDataset | None:
    """train/CLASS/* and test/CLASS/*; test may be called val, valid or validation."""
    parts = _parts(folder)
    return dataset(name, *map(class_folders, parts)) if parts else None


def _parts(folder: Path) -> list[Path]:
    """Those for training and for testing, or none."""
    testing = [folder / part for part in TESTING if (folder / part).is_dir()]
    return [folder / "train", testing[0]] if (folder / "train").is_dir() and testing else []


def plain(training: int | None = None, *inside: str, without: tuple[str, ...] = ()) -> Layout:
    """CLASS/*, with our own fixed split; `inside` are sub-folders where the classes may lie."""

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
    """CUB_200_2011 as published: images/CLASS/*, images.txt and train_test_split.txt."""
    for root in (folder, folder / "CUB_200_2011"):
        lists = [root / "images.txt", root / "train_test_split.txt"]
        if all(path.is_file() for path in lists):
            paths, parts = (dict(line.split() for line in path.read_text().splitlines()) for path in lists)
            train: dict[str, list[Path]] = {}
            test: dict[str, list[Path]] = {}
            for number, path in paths.items():
                part = train if parts[number] == "1" else test
                part.setdefault(Path(path).parent.name, []).append(root / "images" / path)
            return dataset(name, train, test)
    return None


def tiny_imagenet(name: str, folder: Path) -> ImageDataset | None:
    """train/CLASS/images/*, val/images/* and val/val_annotations.txt; the test images have no labels."""
    for root in (folder, folder / "tiny-imagenet-200"):
        annotations = root / "val" / "val_annotations.txt"
        if annotations.is_file():
            test: dict[str, list[Path]] = {}
            for line in annotations.read_text().splitlines():
                image, label = line.split("\t")[:2]
                test.setdefault(label, []).append(root / "val" / "images" / image)
            return dataset(name, class_folders(root / "train"), test)
    return None


def listed_classes(name: str, folder: Path) -> ImageDataset | None:
    """train/CLASS/* and val/CLASS/* of all of ImageNet, of which classes.txt names those that are used."""
    chosen = folder / "classes.txt"
    if not (chosen.is_file() and (folder / "train").is_dir() and (folder / "val").is_dir()):
        return None
    labels = [line.split()[0] for line in chosen.read_text().splitlines() if line.strip()]
    return dataset(name, _chosen(folder / "train", labels), _chosen(folder / "val", labels))


def any_folder(path: Path) -> ImageDataset:
    """A user's own images: train/ and test/, or CLASS/* with our fixed split, four fifths for training."""
    if not path.is_dir():
        raise ConfigurationError(f"The folder {path} does not exist; write folder:PATH-CLASSES/TASKS with its path.")
    found = train_and_test(f"folder:{path}", path) or plain()(f"folder:{path}", path)
    if found is None and (alone := list(class_folders(path))):
        raise InputError(f"{path} has images of one class alone, {alone[0]!r}; put those of a second one beside it.")
    if found is None:
        raise InputError(f"{path} has no sub-folders with images; put the images of each class into one of its own.")
    return found


def passed_over(path: Path) -> dict[Path, str]:
    """What `any_folder` does not take in: folders and files, and why."""
    found: dict[Path, str] = {}
    for part in _parts(path) or [path]:
        empty = files.without_images(part)
        found |= {one: f"{one} has no image of a kind that can be read; convert what is in it." for one in empty}
        found |= files.passed_over(part)
    return found


def _chosen(folder: Path, labels: list[str]) -> ByClass:
    if missing := [label for label in labels if not (folder / label).is_dir()]:
        raise InputError(f"{folder} has no folder {missing[0]}, which classes.txt names; check the list.")
    return {label: images_under(folder / label) for label in labels}
