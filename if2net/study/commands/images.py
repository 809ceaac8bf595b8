"""features and pretrain, and the features of a scenario before a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from if2net.commands.answer import SENTENCES, Output
from if2net.commands.images import print_left_out
from if2net.commands.options import BackboneOption, DeviceOption, NoWaitOption
from if2net.study.commands.options import DataOption

if TYPE_CHECKING:
    from rich.console import Console

    from if2net.images.extractor import Extractor
    from if2net.study.bench.loading import Loader
    from if2net.study.data import ImageDataset, Scenario
    from if2net.study.pretraining.preparation import Prepared


def features(
    images: Annotated[str, typer.Argument(help="An image data set, a scenario, or a folder of images.")],
    backbone: BackboneOption = None,
    seed: Annotated[int, typer.Option(min=0, help="For a scenario with @held-out: the seed of the backbone.")] = 0,
    data: DataOption = None,
    device: DeviceOption = "auto",
    output: Output = SENTENCES,
) -> None:
    """Compute the features of images and keep them in the cache, where all later runs find them."""
    from if2net.config import resolve_device
    from if2net.errors import InputError, OutputError
    from if2net.images.backbones.registry import DEFAULT
    from if2net.images.cache import FeatureCache
    from if2net.images.extraction import extract
    from if2net.images.extractor import load_extractor
    from if2net.progress import progress

    console = output.screen(stderr=False)
    files, scenario, left_out = _images(images, data, backbone)
    if scenario is not None:
        prepared = _prepare_backbone(scenario, seed, data, str(resolve_device(device)), console)
        scenario = prepared.scenario
        backbone = scenario.backbone
        left_out = left_out | prepared.left_out
    extractor = load_extractor(backbone or DEFAULT, resolve_device(device))
    paths, cache = _paths(files, scenario, extractor), FeatureCache(extractor.identity)
    with progress("features", console) as show:
        extracted = extract(paths, extractor, cache, show)
    if not len(extracted.X):
        raise InputError(f"None of the {len(paths):,} images can be used. The first: {extracted.left_out[paths[0]]}")
    if cache.unsaved:
        raise OutputError(f"{cache.path} cannot hold the features of {len(cache.unsaved):,} images; free some space.")
    console.print(
        f"{len(extracted.X):,} images have {extracted.X.shape[1]:,} features each ({extractor.identity[:8]}).",
        highlight=False,
    )
    left_out = left_out | extracted.left_out
    print_left_out(left_out, console)
    values = {"images": len(extracted.X), "features": extracted.X.shape[1], "left_out": list(left_out.values())}
    output.answer((), values)


def pretrain(
    dataset: Annotated[str, typer.Argument(help="An image data set, such as cifar100 or folder:PATH.")],
    classes: Annotated[int, typer.Option(help="Number of classes to train on; these cannot be learned later.")],
    out: Annotated[Path | None, typer.Option(help="The backbone file. Default: DATASET-CLASSES-SEED.if2.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the classes and the random numbers.")] = 0,
    architecture: Annotated[str | None, typer.Option(help="resnet18 or resnet56.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the images.")] = None,
    rotations: Annotated[bool | None, typer.Option(help="Learn the four directions of each image, too.")] = None,
    size: Annotated[int | None, typer.Option(min=8, help="Pixels per side that images are scaled to.")] = None,
    data: DataOption = None,
    device: DeviceOption = "auto",
    no_wait: NoWaitOption = False,
    output: Output = SENTENCES,
) -> None:
    """Train a backbone from scratch on some classes of a data set.

    A training that was stopped continues with the same command. Options that are not given have the values of
    `@held-out` for this data set.
    """
    from dataclasses import replace

    from if2net.config import resolve_device
    from if2net.errors import ConfigurationError
    from if2net.files import check_writable
    from if2net.locks import locked
    from if2net.progress import progress
    from if2net.study.data import load_images
    from if2net.study.pretraining import held_out
    from if2net.study.pretraining.preparation import file_name
    from if2net.study.pretraining.training import recipe_for

    console = output.screen(stderr=False)
    options: dict[str, Any] = {"architecture": architecture, "epochs": epochs, "rotations": rotations, "size": size}
    given = {name: value for name, value in options.items() if value is not None}
    recipe = replace(recipe_for(dataset, seed), **given)
    target = out or Path(file_name(dataset, classes, seed))
    if target.suffix != ".if2":
        raise ConfigurationError(f"{target} must end in .if2; choose another --out.")
    check_writable(target)
    images = load_images(dataset, data)
    with locked(target, wait=not no_wait), progress("epochs", console) as show:
        left_out = held_out.train(images, classes, recipe, target, device=resolve_device(device), show=show)
    console.print(f"Backbone: {target}{', which existed already' if left_out is None else ''}", soft_wrap=True)
    all_left_out = images.left_out | (left_out or {})
    print_left_out(all_left_out, console)
    values = {"backbone": str(target), "left_out": list(all_left_out.values())}
    output.answer((), values)


def prepare_rows(
    scenario: Scenario, loader: Loader, device: str, console: Console, seeds: Iterable[int]
) -> dict[Path, str]:
    """Load the rows of a scenario for these seeds with progress; return the images left out, with the reasons."""
    from if2net.encoder import INNATE
    from if2net.images.backbones import registry
    from if2net.progress import progress
    from if2net.study.bench.loading import scenario_images
    from if2net.study.data.image_datasets import IMAGE_DATASETS
    from if2net.study.pretraining import per_seed

    if scenario.backbone is None:
        loader.load(scenario)
        return {}
    per_seed.check(scenario)
    own_backbones = per_seed.is_per_seed(scenario)
    if own_backbones:
        scenario_images(scenario, loader.folder)  # raises an error for too few classes before a backbone is trained
    left_out: dict[Path, str] = {}
    for seed in seeds if own_backbones else [0]:
        prepared = _prepare_backbone(scenario, seed, loader.folder, device, console)
        with progress("features", console) as show:
            loader.load(scenario, seed, device=device, show=show)
        left_out |= prepared.left_out
    source = IMAGE_DATASETS.get(scenario.dataset)
    backbone, _ = registry.split(str(prepared.scenario.backbone))
    # The innate networks have seen drawings only. The file of a backbone lists the classes that it has seen, and they
    # are never tested.
    may_have_seen = backbone not in ("pixels", *INNATE) and not backbone.endswith(".if2")
    if source is not None and source.of_imagenet and may_have_seen:
        console.print(
            f"{scenario.dataset} comes from ImageNet: a backbone that was trained on ImageNet has seen its classes. "
            "Say so beside these numbers."
        )
    return left_out | loader.left_out


def _prepare_backbone(scenario: Scenario, seed: int, data: Path | None, device: str, console: Console) -> Prepared:
    from if2net.progress import progress
    from if2net.study.pretraining import per_seed

    with progress(f"backbone of seed {seed}", console) as show:
        return per_seed.prepare(scenario, seed, data, device=device, show=show)


def _images(
    text: str, data: Path | None, backbone: str | None
) -> tuple[ImageDataset | list[Path], Scenario | None, dict[Path, str]]:
    """Return a data set or the images of a folder, the scenario if the text is one, and files that were left out."""
    from if2net.errors import ConfigurationError, InputError, unknown
    from if2net.images.folders import images_under, unknown_under
    from if2net.study.bench.loading import scenario_images
    from if2net.study.data import DATASETS, IMAGE_DATASETS, is_image_dataset, load_images, parse_scenario
    from if2net.study.data.scenario import is_scenario
    from if2net.study.pretraining import per_seed

    folder = Path(text)
    if folder.is_dir():
        if paths := images_under(folder):
            return paths, None, unknown_under(folder)
        raise InputError(f"There are no images in {text} or the folders inside it; give another folder.")
    scenario = parse_scenario(text) if is_scenario(text) else None
    if text in DATASETS or (scenario is not None and scenario.backbone is None):
        raise InputError(f"{text} is a table of numbers and needs no features; run it directly.")
    if scenario is not None:
        scenario = parse_scenario(text, backbone)
        per_seed.check(scenario)
        images = scenario_images(scenario, data)
        return images, scenario, images.left_out
    if not is_image_dataset(text):
        raise ConfigurationError(
            f"{unknown('image data set', text, IMAGE_DATASETS)} Nor is there a folder {text}. "
            "A scenario is written DATASET-CLASSES/TASKS."
        )
    images = load_images(text, data)
    return images, None, images.left_out


def _paths(files: ImageDataset | list[Path], scenario: Scenario | None, extractor: Extractor) -> list[Path]:
    """Return all images; for a scenario, those of the classes that can be learned with this backbone."""
    from if2net.study.bench.loading import unseen

    if isinstance(files, list):
        return files
    wanted = range(len(files.classes)) if scenario is None else unseen(files, extractor, scenario.classes)
    return [path for part in (files.train, files.test) for path in part.of(wanted).paths]
