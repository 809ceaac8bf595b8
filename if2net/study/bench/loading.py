"""Loading the data of a scenario as rows of numbers: a table, or the features of images from a backbone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from if2net.errors import ConfigurationError, InputError
from if2net.images.extraction import extract
from if2net.images.extractor import Extractor, load_extractor
from if2net.progress import Show
from if2net.study.data import Dataset, ImageDataset, Scenario, load_dataset, load_images
from if2net.study.data.image_files import Files
from if2net.study.pretraining import per_seed
from if2net.study.pretraining.preparation import Device, Folder

LeftOut = dict[Path, str]  # image → why it cannot be used
KEPT = 2  # data sets in memory at a time


class Loader:
    """The data sets of scenarios, each loaded once. `left_out` collects the images that cannot be used."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.left_out: LeftOut = {}
        self._recent: dict[tuple[Scenario, int], Dataset] = {}

    def load(
        self, scenario: Scenario, seed: int = 0, *, device: Device | None = None, show: Show | None = None
    ) -> Dataset:
        """Return the data set of a scenario. Most streams that differ only in the number of tasks share it."""
        key = per_seed.key(scenario, seed)
        if key not in self._recent:
            while len(self._recent) >= KEPT:
                del self._recent[next(iter(self._recent))]
            self._recent[key], left_out = load_rows(scenario, self.folder, seed, device=device, show=show)
            self.left_out |= left_out
        return self._recent[key]


def load_rows(
    scenario: Scenario,
    folder: Folder = None,
    seed: int = 0,
    *,
    device: Device | None = None,
    show: Show | None = None,
) -> tuple[Dataset, LeftOut]:
    """Load the data set of a scenario: a table, or the features of its images.

    Features are computed once and kept in the cache. They depend on the seed only if every seed has its own
    backbone.
    """
    if scenario.backbone is None:
        data = load_dataset(scenario.dataset, folder)
        scenario.check_classes(data.classes)
        return data, {}
    images = scenario_images(scenario, folder)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    scenario = per_seed.prepare(scenario, seed, folder, device=device).scenario
    extractor = load_extractor(str(scenario.backbone), device)
    return image_rows(images, extractor, unseen(images, extractor, scenario.classes), show)


def scenario_images(scenario: Scenario, folder: Folder = None) -> ImageDataset:
    """Return the images of a scenario, which must have enough classes."""
    images = load_images(scenario.dataset, folder)
    scenario.check_classes(len(images.classes))
    return images


def image_rows(
    images: ImageDataset, extractor: Extractor, classes: list[int] | None = None, show: Show | None = None
) -> tuple[Dataset, LeftOut]:
    """Compute the features of some classes. The labels are those of the whole data set; other classes are empty."""
    chosen = range(len(images.classes)) if classes is None else classes
    train, test = images.train.of(chosen), images.test.of(chosen)
    extracted = extract([*train.paths, *test.paths], extractor, show=show)
    train_kept, test_kept = np.split(extracted.kept, [len(train.paths)])
    train_X, test_X = np.split(extracted.X, [int(train_kept.sum())])
    train_y, test_y = train.labels[train_kept], test.labels[test_kept]
    for part, files, labels in (("training", train, train_y), ("test", test, test_y)):
        _check_classes_left(images, part, files, labels, extracted.left_out)
    origin = {"identity": extractor.identity, "pretrained_on": extractor.pretrained_on}
    data = Dataset(images.name, train_X, train_y, test_X, test_y, images.classes, origin)
    return data, images.left_out | extracted.left_out


def _check_classes_left(images: ImageDataset, part: str, files: Files, labels: np.ndarray, left_out: LeftOut) -> None:
    """Raise an error if no image of a class can be used: the class could not be learned, or not be tested."""
    if lost := np.setdiff1d(files.labels, labels).tolist():
        reason = left_out[files.of(lost[:1]).paths[0]]
        raise InputError(
            f"The class {images.classes[lost[0]]!r} of {images.name} has no {part} image that can be used; add some, "
            f"or leave the class out. The first of them: {reason}"
        )


def unseen(images: ImageDataset, extractor: Extractor, wanted: int) -> list[int]:
    """Return the classes that the backbone was not trained on; there must be at least `wanted`."""
    seen = set(extractor.backbone.seen_classes)
    left = [number for number, name in enumerate(images.classes) if name not in seen]
    if wanted > len(left) and len(left) < len(images.classes):
        known = sorted(seen.intersection(images.classes))
        raise ConfigurationError(
            f"{extractor.backbone.name} has seen {len(known)} classes of {images.name} ({known[0]} and others), "
            f"which cannot be tested fairly; choose at most {len(left)} classes, or another backbone."
        )
    return left
