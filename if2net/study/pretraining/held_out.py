"""`@held-out`: one backbone per seed, pre-trained on the classes that the stream of this seed does not learn.

This is the paper's protocol. Each backbone is trained once and kept in the cache folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from if2net import modelfile
from if2net.errors import ConfigurationError, InputError, ModelFileError
from if2net.files import cache_folder, locked, make_folder
from if2net.images.backbones.file import KIND
from if2net.images.backbones.registry import values_of
from if2net.images.read import Framing, read_image
from if2net.progress import Show
from if2net.study.data import ImageDataset, Scenario, load_images
from if2net.study.data.image_datasets import FOLDER
from if2net.study.pretraining.training import Recipe, held_out_classes, pretrain, recipe_for

NAME = "held-out"
SEED = "seed="  # the option that chooses one backbone for all seeds


@dataclass(frozen=True)
class Prepared:
    """A scenario whose backbone is a file, and the images that its training could not use, with the reasons."""

    scenario: Scenario
    left_out: dict[Path, str] = field(default_factory=dict)


def is_held_out(scenario: Scenario) -> bool:
    """Return whether the scenario asks for a backbone per seed."""
    return (scenario.backbone or "").split(",")[0] == NAME


def with_seed(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario with the backbone of one seed for all streams, as a search needs it.

    >>> from if2net.study.data import parse_scenario
    >>> with_seed(parse_scenario("cifar100-60/10@held-out,pool=1"), 0).backbone
    'held-out,seed=0,pool=1'
    """
    if not is_held_out(scenario):
        return scenario
    _, *options = str(scenario.backbone).split(",")
    if any(word.startswith(SEED) for word in options):
        return scenario
    return replace(scenario, backbone=",".join([NAME, f"{SEED}{seed}", *options]))


def prepare(
    scenario: Scenario,
    seed: int,
    folder: str | os.PathLike[str] | None = None,
    *,
    device: torch.device | str = "cpu",
    show: Show | None = None,
) -> Prepared:
    """Return the scenario with the backbone file of a seed, and the images that could not be used in its training."""
    _, *options = str(scenario.backbone).split(",")
    chosen = values_of(options).get("seed")
    images = load_images(with_absolute_path(scenario.dataset), folder)
    count = len(images.classes) - scenario.classes
    recipe = recipe_for(scenario.dataset, seed if chosen is None else _seed(chosen))
    path = place(images, file_name(images.name, count, recipe.seed))
    with locked(path):  # a second process waits for the training instead of repeating it
        left_out = train(images, count, recipe, path, device=device, show=show)
    backbone = ",".join([str(path), *(word for word in options if not word.startswith(SEED))])
    return Prepared(replace(scenario, backbone=backbone), left_out or {})


def file_name(dataset: str, classes: int, seed: int) -> str:
    """Return the default name of a backbone file.

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
) -> dict[Path, str] | None:
    """Train a backbone on the training images of `count` classes, chosen by the seed of the recipe.

    Returns the images that could not be used, with the reasons; None if `out` is this backbone already. Any other
    file at `out` is an error and stays as it is.
    """
    chosen = held_out_classes(len(images.classes), count, recipe.seed)
    if out.exists():
        if _is_of(out, images, chosen, recipe):
            return None
        raise ConfigurationError(
            f"{out} exists already and is something else, or was trained on other images, on other classes or with "
            "other settings; move it away, or choose another file."
        )
    files = images.train.of(chosen)
    pixels, kept, left_out = read_images(files.paths, Framing(recipe.size, recipe.size))
    labels = np.searchsorted(chosen, files.labels[kept])
    names = _names(images, chosen)
    if unread := [name for number, name in enumerate(names) if number not in labels]:
        raise InputError(
            f"The classes {', '.join(unread)} have no training image that can be read; repair the images, or remove "
            f"the folders. The first of them: {next(iter(left_out.values()))}"
        )
    pretrain(pixels, labels, names, recipe, out, dataset=images.name, device=device, show=show)
    return left_out


def read_images(paths: Sequence[Path], framing: Framing) -> tuple[np.ndarray, np.ndarray, dict[Path, str]]:
    """Return N×size×size×3 bytes, a mask over the paths, and the images that cannot be read, with the reasons."""

    def read(path: Path) -> np.ndarray | str:
        try:
            return read_image(path, framing)
        except InputError as error:
            return str(error)

    with ThreadPoolExecutor() as pool:
        results = list(pool.map(read, paths))
    images = [image for image in results if not isinstance(image, str)]
    kept = np.array([not isinstance(image, str) for image in results], dtype=bool)
    left_out = {path: reason for path, reason in zip(paths, results, strict=True) if isinstance(reason, str)}
    return np.stack(images) if images else np.empty((0, framing.size, framing.size, 3), np.uint8), kept, left_out


def with_absolute_path(dataset: str) -> str:
    """Return the name of the data set with an absolute path, which means the same in every working folder."""
    if not dataset.startswith(FOLDER):
        return dataset
    return f"{FOLDER}{Path(dataset.removeprefix(FOLDER)).expanduser().resolve()}"


def place(images: ImageDataset, name: str) -> Path:
    """Return the file of a backbone. The name has a digest of the path if the images are in a user's own folder."""
    path = make_folder(cache_folder() / "backbones") / name
    if not images.name.startswith(FOLDER):
        return path
    return path.with_stem(f"{path.stem}-{hashlib.sha256(images.name.encode()).hexdigest()[:8]}")


def _names(images: ImageDataset, chosen: list[int]) -> list[str]:
    return [images.classes[number] for number in chosen]


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise ConfigurationError(f"The option seed of {NAME} takes a whole number of at least 0, not {text!r}.")
    return int(text)


def _is_of(path: Path, images: ImageDataset, chosen: list[int], recipe: Recipe) -> bool:
    """Return whether the file is the backbone that this training would write."""
    try:
        _, header = modelfile.read(path)
    except ModelFileError:
        return False
    expected = {"kind": KIND, "dataset": images.name, "classes": _names(images, chosen), "recipe": asdict(recipe)}
    return expected.items() <= header.items()
