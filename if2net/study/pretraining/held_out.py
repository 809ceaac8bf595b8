"""`@held-out`: one backbone per seed, pre-trained on the classes that the stream of this seed does not learn.

This is the paper's protocol. Each backbone is trained once and kept in the cache folder.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from if2net import modelfile
from if2net.errors import ConfigurationError, ModelFileError
from if2net.images.backbones.file import KIND
from if2net.images.backbones.registry import values_of
from if2net.locks import locked
from if2net.progress import Show
from if2net.study.data import ImageDataset, Scenario
from if2net.study.pretraining.preparation import Device, Folder, Prepared, backbone_path, images_of, training_images
from if2net.study.pretraining.training import Recipe, held_out_classes, pretrain, recipe_for

NAME = "held-out"
SEED = "seed="  # the option that chooses one backbone for all seeds


def with_seed(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario with the backbone of one seed for all streams, for a search.

    >>> from if2net.study.data import parse_scenario
    >>> with_seed(parse_scenario("cifar100-60/10@held-out,pool=1"), 0).backbone
    'held-out,seed=0,pool=1'
    """
    name, *options = (scenario.backbone or "").split(",")
    if name != NAME:
        return scenario
    if any(word.startswith(SEED) for word in options):
        return scenario
    return replace(scenario, backbone=",".join([NAME, f"{SEED}{seed}", *options]))


def prepare(scenario: Scenario, seed: int, folder: Folder, device: Device, show: Show | None) -> Prepared:
    """Return the scenario with the backbone file of a seed, and the images that could not be used."""
    _, *options = str(scenario.backbone).split(",")
    chosen = values_of(options).get("seed")
    images = images_of(scenario, folder)
    count = len(images.classes) - scenario.classes
    recipe = recipe_for(scenario.dataset, seed if chosen is None else _seed(chosen))
    path = backbone_path(images, count, recipe.seed)
    with locked(path):  # a second process waits for the training instead of repeating it
        left_out = train(images, count, recipe, path, device=device, show=show)
    backbone = ",".join([str(path), *(word for word in options if not word.startswith(SEED))])
    return Prepared(replace(scenario, backbone=backbone), left_out or {})


def train(
    images: ImageDataset,
    count: int,
    recipe: Recipe,
    out: Path,
    *,
    device: Device = "cpu",
    show: Show | None = None,
) -> dict[Path, str] | None:
    """Train a backbone on the training images of `count` classes, chosen by the seed of the recipe.

    Returns the images that could not be used, with the reasons; None if `out` is this backbone already. Any other
    file at `out` is an error and is not changed.
    """
    chosen = held_out_classes(len(images.classes), count, recipe.seed)
    if out.exists():
        if _is_of(out, images, chosen, recipe):
            return None
        raise ConfigurationError(
            f"{out} exists already and is not this backbone: it is another kind of file, or was trained on other "
            "images or classes or with other settings. Move it away, or choose another file."
        )
    pixels, labels, left_out = training_images(images, chosen, recipe.size)
    pretrain(pixels, labels, _names(images, chosen), recipe, out, dataset=images.name, device=device, show=show)
    return left_out


def _names(images: ImageDataset, chosen: list[int]) -> list[str]:
    return [images.classes[number] for number in chosen]


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise ConfigurationError(f"The option seed of {NAME} takes a whole number of at least 0, not {text!r}.")
    return int(text)


def _is_of(path: Path, images: ImageDataset, chosen: list[int], recipe: Recipe) -> bool:
    """Return whether the file is the backbone of this training."""
    try:
        _, header = modelfile.read(path)
    except ModelFileError:
        return False
    expected = {"kind": KIND, "dataset": images.name, "classes": _names(images, chosen), "recipe": asdict(recipe)}
    return expected.items() <= header.items()
