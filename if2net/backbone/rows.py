"""From a scenario to rows of numbers: a table's own, or the features of its images from a backbone."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch

from if2net.backbone import held_out
from if2net.backbone.extraction import Show, extract
from if2net.backbone.extractor import Extractor
from if2net.backbone.registry import load_extractor
from if2net.data import Dataset, ImageDataset, Scenario, load_dataset, load_images
from if2net.errors import ConfigurationError

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
        return load_dataset(scenario.dataset, folder), {}
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    scenario = held_out.resolved(scenario, seed, folder, device=device)
    images = load_images(scenario.dataset, folder)
    extractor = load_extractor(str(scenario.backbone), device)
    return image_rows(images, extractor, unseen(images, extractor, scenario.classes), show)


def image_rows(
    images: ImageDataset, extractor: Extractor, classes: list[int] | None = None, show: Show | None = None
) -> tuple[Dataset, Refused]:
    """The features of some classes of an image dataset. Labels are the dataset's own; the other classes are empty."""
    chosen = range(len(images.classes)) if classes is None else classes
    train, test = images.train.of(chosen), images.test.of(chosen)
    found = extract([*train.paths, *test.paths], extractor, show=show)
    kept = np.split(found.kept, [len(train.paths)])
    rows = np.split(found.X, [int(kept[0].sum())])
    data = Dataset(images.name, rows[0], train.labels[kept[0]], rows[1], test.labels[kept[1]])
    return data, found.refused


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
