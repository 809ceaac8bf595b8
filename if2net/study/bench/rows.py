"""From a scenario to rows of numbers: a table's own, or the features of its images from a backbone."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch

from if2net.errors import ConfigurationError, InputError
from if2net.images.extraction import extract
from if2net.images.extractor import Extractor, load_extractor
from if2net.progress import Show
from if2net.study.data import Dataset, ImageDataset, Scenario, load_dataset, load_images
from if2net.study.data.image_files import Files
from if2net.study.pretraining import held_out

Refused = dict[Path, str]  # image → why it could not be used


def load_rows(
    scenario: Scenario,
    folder: str | os.PathLike[str] | None = None,
    seed: int = 0,
    *,
    device: torch.device | str | None = None,
    show: Show | None = None,
) -> tuple[Dataset, Refused]:
    """The dataset of a scenario; only where every seed has a backbone of its own does it depend on the seed.

    Features are computed once; the next time they come from the cache.
    """
    if scenario.backbone is None:
        data = load_dataset(scenario.dataset, folder)
        scenario.check_classes(data.classes)
        return data, {}
    images = scenario_images(scenario, folder)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    scenario = held_out.resolved(scenario, seed, folder, device=device)
    extractor = load_extractor(str(scenario.backbone), device)
    return image_rows(images, extractor, unseen(images, extractor, scenario.classes), show)


def scenario_images(scenario: Scenario, folder: str | os.PathLike[str] | None = None) -> ImageDataset:
    """The images that a scenario draws its classes from; an error where they have too few."""
    images = load_images(scenario.dataset, folder)
    scenario.check_classes(len(images.classes))
    return images


def image_rows(
    images: ImageDataset, extractor: Extractor, classes: list[int] | None = None, show: Show | None = None
) -> tuple[Dataset, Refused]:
    """The features of some classes of an image dataset. Labels are the dataset's own; the other classes are empty."""
    chosen = range(len(images.classes)) if classes is None else classes
    train, test = images.train.of(chosen), images.test.of(chosen)
    found = extract([*train.paths, *test.paths], extractor, show=show)
    kept = np.split(found.kept, [len(train.paths)])
    rows = np.split(found.X, [int(kept[0].sum())])
    origin = {"identity": extractor.identity, "pretrained_on": extractor.backbone.pretrained_on}
    labels = train.labels[kept[0]], test.labels[kept[1]]
    for part, files, left in (("training", train, labels[0]), ("test", test, labels[1])):
        _check_left(images, part, files, left, found.left_out)
    data = Dataset(images.name, rows[0], labels[0], rows[1], labels[1], images.classes, origin)
    return data, images.left_out | found.left_out


def _check_left(images: ImageDataset, part: str, files: Files, left: np.ndarray, refused: Refused) -> None:
    """An error where no image of a class could be used: there would be nothing to learn from, or to test with."""
    if lost := np.setdiff1d(files.labels, left).tolist():
        reason = refused[files.of(lost[:1]).paths[0]]
        raise InputError(
            f"The class {images.classes[lost[0]]!r} of {images.name} has no {part} image that can be used; add some, "
            f"or leave the class out. The first of them: {reason}"
        )


def unseen(images: ImageDataset, extractor: Extractor, wanted: int) -> list[int]:
    """The classes that the backbone was not trained on; learning the others would be no test. `wanted` are needed."""
    seen = set(extractor.backbone.seen_classes)
    left = [number for number, name in enumerate(images.classes) if name not in seen]
    if wanted > len(left) and len(left) < len(images.classes):
        known = sorted(seen.intersection(images.classes))
        raise ConfigurationError(
            f"{extractor.backbone.name} has seen {len(known)} classes of {images.name} ({known[0]} and others), "
            f"which may not be learned again; choose at most {len(left)} classes, or another backbone."
        )
    return left
