"""features and pretrain: what goes before learning from images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from if2net.commands.messages import AFTERWARDS, refuse_held_out, summarise, summarise_others
from if2net.commands.options import BackboneOption, DataOption, DeviceOption

if TYPE_CHECKING:
    from rich.console import Console

    from if2net.errors import IF2NetError
    from if2net.images.extractor import Extractor
    from if2net.study.data import ImageDataset, Scenario
    from if2net.study.pretraining.training import Epoch


def features(
    images: Annotated[str, typer.Argument(help="An image dataset, a scenario or a folder with images.")],
    backbone: BackboneOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Of a scenario with @held-out: whose backbone.")] = 0,
    data: DataOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Compute the features of images once and for all; every later run takes them from the cache."""
    from rich.console import Console

    from if2net.config import resolve_device
    from if2net.errors import InputError
    from if2net.images.backbones.registry import DEFAULT
    from if2net.images.extraction import extract
    from if2net.images.extractor import load_extractor
    from if2net.progress import progress

    console = Console()
    files, others, scenario = _images(images, data, backbone)
    if scenario is not None:
        scenario = _with_backbone(scenario, seed, data, str(resolve_device(device)), console)
        backbone = scenario.backbone
    refuse_held_out(backbone)
    extractor = load_extractor(backbone or DEFAULT, resolve_device(device))
    paths = _paths(files, scenario, extractor)
    with progress("features", console) as show:
        found = extract(paths, extractor, show=show)
    if not len(found.X):
        raise InputError(f"None of the {len(paths):,} images can be used. The first: {found.refused[paths[0]]}")
    console.print(
        f"{len(found.X):,} images have {found.X.shape[1]:,} features each ({extractor.identity[:8]}).",
        highlight=False,
    )
    summarise(found.refused, len(paths), console)
    summarise_others(others, console)


def pretrain(
    dataset: Annotated[str, typer.Argument(help="An image dataset, such as cifar100 or folder:PATH.")],
    classes: Annotated[int, typer.Option(help="How many classes to train on; these cannot be learned later.")],
    out: Annotated[Path | None, typer.Option(help="The backbone's file. Default: DATASET-CLASSES-SEED.if2.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the classes, and everything that is random.")] = 0,
    architecture: Annotated[str | None, typer.Option(help="resnet18 or resnet56.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the images.")] = None,
    rotations: Annotated[bool | None, typer.Option(help="Learn the four directions of every image, too.")] = None,
    size: Annotated[int | None, typer.Option(min=8, help="Pixels on each side that images are brought to.")] = None,
    data: DataOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Train a backbone from scratch on some classes of a dataset; a killed training goes on where it stopped.

    What is not given is as `@held-out` has it for this dataset.
    """
    from dataclasses import replace

    from rich.console import Console

    from if2net.config import resolve_device
    from if2net.errors import ConfigurationError
    from if2net.study.data import load_images
    from if2net.study.data.image_datasets import passed_over
    from if2net.study.pretraining import held_out
    from if2net.study.pretraining import training as pretraining

    console = Console()
    given: dict[str, Any] = {"architecture": architecture, "epochs": epochs, "rotations": rotations, "size": size}
    chosen = {name: value for name, value in given.items() if value is not None}
    recipe = replace(pretraining.recipe_for(dataset, seed), **chosen)
    images = load_images(dataset, data)
    target = out or Path(held_out.file_name(dataset, classes, seed))
    if target.suffix != ".if2" or not target.parent.is_dir():
        raise ConfigurationError(f"{target} must end in .if2 and lie in a folder that exists; choose another --out.")

    with _epochs("epochs", console) as show:
        trained = held_out.train(
            images, classes, recipe, target, device=resolve_device(device), show=show, refusals=_refusals(console)
        )
    console.print(f"Backbone: {target}{'' if trained else ', which was there already'}", soft_wrap=True)
    summarise_others(passed_over(dataset), console)


def _refusals(console: Console) -> Callable[[dict[Path, str], int], None]:
    """Takes note of images that could not be read, of how many; they are named at the end."""

    def take_note(refused: dict[Path, str], total: int) -> None:
        AFTERWARDS.callback(summarise, refused, total, console)

    return take_note


@contextmanager
def _epochs(what: str, console: Console) -> Iterator[Callable[[Epoch], None]]:
    from if2net.progress import progress

    with progress(what, console) as show:

        def shown(epoch: Epoch) -> None:
            show(epoch.number, epoch.epochs, f"loss {epoch.loss:.3f}, accuracy {100 * epoch.accuracy:.1f} %")

        yield shown


def load_shown(scenario: Scenario, data: Path | None, device: str, console: Console, seeds: Iterable[int]) -> None:
    """Make the rows of a scenario for these seeds ready, with progress, and say what has to be said of them."""
    from if2net.study.bench.rows import scenario_images
    from if2net.study.data.image_datasets import IMAGE_DATASETS, passed_over
    from if2net.study.pretraining import held_out

    own = held_out.is_held_out(scenario)
    if own:
        scenario_images(scenario, data)  # too few classes are found before a backbone is trained
    for seed in seeds if own else [0]:
        ready = _with_backbone(scenario, seed, data, device, console)
        _load_shown(ready, data, device, console)
    AFTERWARDS.callback(summarise_others, passed_over(scenario.dataset), console)
    source = IMAGE_DATASETS.get(scenario.dataset)
    if source is not None and source.of_imagenet and not _knows_its_classes(str(ready.backbone)):
        console.print(
            f"{scenario.dataset} comes from ImageNet: a backbone that was trained on ImageNet has seen its classes. "
            "Say so beside these numbers."
        )


def _knows_its_classes(backbone: str) -> bool:
    """Whether it is known which classes it has seen: those in its file, or none at all."""
    from if2net.images.backbones import registry

    name, _ = registry.split(backbone)
    return name == "pixels" or name.endswith(".if2")


def _with_backbone(scenario: Scenario, seed: int, data: Path | None, device: str, console: Console) -> Scenario:
    from if2net.study.pretraining import held_out

    with _epochs(f"backbone of seed {seed}", console) as show:
        return held_out.resolved(scenario, seed, data, device=device, show=show, refusals=_refusals(console))


def _load_shown(scenario: Scenario, data: Path | None, device: str, console: Console) -> None:
    from if2net.progress import progress
    from if2net.study.bench.rows import load_rows

    with progress("features", console) as show:
        rows, refused = load_rows(scenario, data, device=device, show=show)
    _refusals(console)(refused, len(rows.train_y) + len(rows.test_y) + len(refused))


def _images(
    text: str, data: Path | None, backbone: str | None
) -> tuple[ImageDataset | list[Path], dict[Path, str], Scenario | None]:
    """A dataset, or the images of a folder; what was passed over; and the scenario, where that was named."""
    from if2net.errors import InputError
    from if2net.images.files import images_under, unknown_under
    from if2net.study.bench.rows import scenario_images
    from if2net.study.data import DATASETS, is_image_dataset, load_images, parse_scenario
    from if2net.study.data.image_datasets import passed_over
    from if2net.study.data.scenario import is_scenario

    folder = Path(text)
    if folder.is_dir():
        if paths := images_under(folder):
            return paths, unknown_under(folder), None
        raise InputError(f"There are no images in {text} or the folders inside it.")
    if is_scenario(text):
        scenario = parse_scenario(text)
        if scenario.backbone is None:
            raise InputError(f"{scenario.dataset} is a table of numbers; it needs no features.")
        scenario = parse_scenario(text, backbone)
        return scenario_images(scenario, data), passed_over(scenario.dataset), scenario
    if text in DATASETS:
        raise InputError(f"{text} is a table of numbers; it needs no features.")
    if not is_image_dataset(text):
        raise _no_images_by_name(text)
    return load_images(text, data), passed_over(text), None


def _no_images_by_name(text: str) -> IF2NetError:
    from if2net.errors import ConfigurationError, unknown
    from if2net.study.data import IMAGE_DATASETS

    return ConfigurationError(
        f"{unknown('image dataset', text, IMAGE_DATASETS)} Nor is there a folder {text}. "
        "A scenario is written DATASET-CLASSES/TASKS."
    )


def _paths(files: ImageDataset | list[Path], scenario: Scenario | None, extractor: Extractor) -> list[Path]:
    """All of them; of a scenario those of the classes that can be learned with this backbone."""
    from if2net.study.bench.rows import unseen

    if isinstance(files, list):
        return files
    wanted = range(len(files.classes)) if scenario is None else unseen(files, extractor, scenario.classes)
    return [path for part in (files.train, files.test) for path in part.of(wanted).paths]
