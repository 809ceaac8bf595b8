"""`@held-out`: for every seed a backbone of its own, trained on the classes that this seed's stream does not learn.

The paper's protocol. The backbones are kept beside the features in the cache and are trained once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock

from if2net import modelfile
from if2net.errors import ConfigurationError, InputError, ModelFileError
from if2net.files import cache_folder, make_folder
from if2net.images.backbones.file import KIND
from if2net.images.read import Framing, read_images
from if2net.study.data import ImageDataset, Scenario, load_images
from if2net.study.data.image_datasets import FOLDER
from if2net.study.pretraining.training import Recipe, Show, held_out_classes, pretrain, recipe_for

NAME = "held-out"

Refusals = Callable[[dict[Path, str], int], None]  # images that could not be read, of how many


def is_held_out(scenario: Scenario) -> bool:
    return (scenario.backbone or "").split(",")[0] == NAME


def with_seed(scenario: Scenario, seed: int) -> Scenario:
    """The scenario with the backbone of one seed, whatever the seed of the stream: for searches.

    >>> from if2net.study.data import parse_scenario
    >>> with_seed(parse_scenario("cifar100-60/10@held-out,pool=1"), 0).backbone
    'held-out,seed=0,pool=1'
    """
    if not is_held_out(scenario):
        return scenario
    _, *options = str(scenario.backbone).split(",")
    return replace(scenario, backbone=",".join([NAME, f"seed={seed}", *options]))


def resolved(
    scenario: Scenario,
    seed: int,
    folder: str | os.PathLike[str] | None = None,
    *,
    device: torch.device | str = "cpu",
    show: Show | None = None,
    refusals: Refusals | None = None,
) -> Scenario:
    """The scenario with the file of this seed's backbone, which is trained where it is missing."""
    if not is_held_out(scenario):
        return scenario
    _, *options = str(scenario.backbone).split(",")
    chosen = [word for word in options if word.startswith("seed=")]
    images = load_images(_from_anywhere(scenario.dataset), folder)
    count = len(images.classes) - scenario.classes
    recipe = recipe_for(scenario.dataset, _seed(chosen[-1]) if chosen else seed)
    path = _place(images, count, recipe)
    with FileLock(path.with_suffix(".lock")):  # a second process waits for the training instead of repeating it
        train(images, count, recipe, path, device=device, show=show, refusals=refusals)
    backbone = ",".join([str(path), *(word for word in options if word not in chosen)])
    return replace(scenario, backbone=backbone)


def file_name(dataset: str, classes: int, seed: int) -> str:
    """
    >>> file_name("folder:some/birds", 20, 1)
    'birds-20-1.if2'
    """
    return f"{dataset.rpartition('/')[2].replace(':', '-')}-{classes}-{seed}.if2"


def train(
    images: ImageDataset,
    count: int,
    recipe: Recipe,
    out: Path,
    *,
    device: torch.device | str = "cpu",
    show: Show | None = None,
    refusals: Refusals | None = None,
) -> bool:
    """Train a backbone on the training images of `count` classes, which the recipe's seed chooses.

    False where `out` is this backbone already; where it is anything else, it is left alone.
    """
    chosen = held_out_classes(len(images.classes), count, recipe.seed)
    if out.exists():
        if _is_of(out, images, chosen, recipe):
            return False
        raise ConfigurationError(
            f"{out} is there already and is something else, or was trained on other images, on other classes or with "
            "other settings; move it away, or choose another file."
        )
    files = images.train.of(chosen)
    pixels, kept, refused = read_images(files.paths, Framing(recipe.size, recipe.size))
    if refusals is not None:
        refusals(refused, len(files.paths))
    labels = np.searchsorted(chosen, files.labels[kept])
    names = _names(images, chosen)
    if unread := [name for number, name in enumerate(names) if number not in labels]:
        raise InputError(
            f"No training image can be read of the classes {', '.join(unread)}; repair their images, or take the "
            "folders of these classes away."
        )
    pretrain(pixels, labels, names, recipe, out, dataset=images.name, device=device, show=show)
    return True


def _from_anywhere(dataset: str) -> str:
    """The same dataset by a name that holds in every folder: there may be images of the same name elsewhere."""
    if not dataset.startswith(FOLDER):
        return dataset
    return f"{FOLDER}{Path(dataset.removeprefix(FOLDER)).expanduser().resolve()}"


def _place(images: ImageDataset, count: int, recipe: Recipe) -> Path:
    """Where the backbone is kept; for a user's own folder its path is in the name, as a digest."""
    plain = make_folder(cache_folder() / "backbones") / file_name(images.name, count, recipe.seed)
    if not images.name.startswith(FOLDER):
        return plain
    chosen = held_out_classes(len(images.classes), count, recipe.seed)
    if plain.exists() and _is_of(plain, images, chosen, recipe):
        return plain  # from the time when folders had no digest
    digest = hashlib.sha256(images.name.encode()).hexdigest()[:8]
    return plain.with_stem(f"{plain.stem}-{digest}")


def _names(images: ImageDataset, chosen: list[int]) -> list[str]:
    return [images.classes[number] for number in chosen]


def _seed(option: str) -> int:
    text = option.removeprefix("seed=")
    if not text.isdecimal():
        raise ConfigurationError(f"The option seed of {NAME} takes a whole number from 0 on, not {text!r}.")
    return int(text)


def _is_of(path: Path, images: ImageDataset, chosen: list[int], recipe: Recipe) -> bool:
    """Whether the file is the backbone that this training would write."""
    try:
        _, header = modelfile.read(path)
    except ModelFileError:
        return False
    wanted = {"kind": KIND, "dataset": images.name, "classes": _names(images, chosen), "recipe": asdict(recipe)}
    return wanted.items() <= header.items()
