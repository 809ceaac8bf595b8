"""features and pretrain: what goes before learning from images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from if2net.commands.options import BackboneOption, DataOption, DeviceOption

if TYPE_CHECKING:
    from rich.console import Console

    from if2net.backbone.extractor import Extractor
    from if2net.backbone.pretraining import Epoch
    from if2net.data import ImageDataset, Scenario

# Of the images that could not be used, so many are named on the screen.
NAMED = 20


def features(
    images: Annotated[str, typer.Argument(help="An image dataset, a scenario or a folder with images.")],
    backbone: BackboneOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Of a scenario with @held-out: whose backbone.")] = 0,
    data: DataOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Compute the features of images once and for all; every later run takes them from the cache."""
    from rich.console import Console

    from if2net.backbone import load_extractor
    from if2net.backbone.extraction import extract
    from if2net.commands.progress import counting
    from if2net.config import resolve_device
    from if2net.data.scenario import DEFAULT_BACKBONE

    console = Console()
    files, scenario = _images(images, data)
    if scenario is not None:
        scenario = _with_backbone(scenario, seed, data, str(resolve_device(device)), console)
    named = scenario.backbone if scenario is not None else None
    extractor = load_extractor(backbone or named or DEFAULT_BACKBONE, resolve_device(device))
    paths = _paths(files, scenario, extractor)
    with counting("features", console) as show:
        found = extract(paths, extractor, show=show)
    console.print(
        f"{len(found.X):,} images have {found.X.shape[1]:,} features each ({extractor.identity[:8]}).",
        highlight=False,
    )
    summarise(found.refused, len(paths), console)


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

    from if2net.backbone import held_out, pretraining
    from if2net.config import resolve_device
    from if2net.data import load_images
    from if2net.errors import ConfigurationError

    console = Console()
    given: dict[str, Any] = {"architecture": architecture, "epochs": epochs, "rotations": rotations, "size": size}
    chosen = {name: value for name, value in given.items() if value is not None}
    recipe = replace(pretraining.recipe_for(dataset, seed), **chosen)
    images = load_images(dataset, data)
    target = out or Path(held_out.file_name(dataset, classes, seed))
    if target.suffix != ".if2" or not target.parent.is_dir():
        raise ConfigurationError(f"{target} must end in .if2 and lie in a folder that exists; choose another --out.")

    def refusals(refused: dict[Path, str], total: int) -> None:
        summarise(refused, total, console)

    with _epochs("epochs", console) as show:
        held_out.train(images, classes, recipe, target, device=resolve_device(device), show=show, refusals=refusals)
    console.print(f"Backbone: {target}", soft_wrap=True)


@contextmanager
def _epochs(what: str, console: Console) -> Iterator[Callable[[Epoch], None]]:
    from if2net.commands.progress import counting

    with counting(what, console) as show:

        def shown(epoch: Epoch) -> None:
            show(epoch.number, epoch.epochs, f"loss {epoch.loss:.3f}, accuracy {100 * epoch.accuracy:.1f} %")

        yield shown


def load_shown(scenario: Scenario, data: Path | None, device: str, console: Console, seeds: Iterable[int]) -> None:
    """Make the rows of a scenario for these seeds ready, with progress, and say what has to be said of them."""
    from if2net.backbone import held_out
    from if2net.data import IMAGE_DATASETS

    for seed in seeds if held_out.is_held_out(scenario) else [0]:
        ready = _with_backbone(scenario, seed, data, device, console)
        _load_shown(ready, data, device, console)
    source = IMAGE_DATASETS.get(scenario.dataset)
    if source is not None and source.of_imagenet and ".if2" not in str(ready.backbone):
        console.print(
            f"{scenario.dataset} comes from ImageNet: a backbone that was trained on ImageNet has seen its classes. "
            "Say so beside these numbers."
        )


def _with_backbone(scenario: Scenario, seed: int, data: Path | None, device: str, console: Console) -> Scenario:
    from if2net.backbone import held_out

    with _epochs(f"backbone of seed {seed}", console) as show:
        return held_out.resolved(scenario, seed, data, device=device, show=show)


def _load_shown(scenario: Scenario, data: Path | None, device: str, console: Console) -> None:
    from if2net.backbone.rows import load_rows
    from if2net.commands.progress import counting

    with counting("features", console) as show:
        rows, refused = load_rows(scenario, data, device=device, show=show)
    summarise(refused, len(rows.train_y) + len(rows.test_y) + len(refused), console)


def summarise(refused: dict[Path, str], total: int, console: Console, what: str = "images") -> None:
    """Name what was left out."""
    if not refused:
        return
    console.print(f"{len(refused):,} of {total:,} {what} were left out:", style="yellow", highlight=False)
    for reason in list(refused.values())[:NAMED]:
        console.print(f"  {reason}", soft_wrap=True, highlight=False, markup=False)
    if len(refused) > NAMED:
        console.print(f"  and {len(refused) - NAMED:,} more", highlight=False)


def _images(text: str, data: Path | None) -> tuple[ImageDataset | list[Path], Scenario | None]:
    """A dataset, or the images of a folder; and the scenario, where that is what was named."""
    from if2net.data import is_image_dataset, load_images, parse_scenario
    from if2net.data.files import images_under
    from if2net.data.scenario import is_scenario
    from if2net.errors import InputError

    if Path(text).is_dir():
        if paths := images_under(Path(text)):
            return paths, None
        raise InputError(f"There are no images in {text} or the folders inside it.")
    scenario = None if is_image_dataset(text) and not is_scenario(text) else parse_scenario(text)
    if scenario is not None and scenario.backbone is None:
        raise InputError(f"{scenario.dataset} is a table of numbers; it needs no features.")
    return load_images(scenario.dataset if scenario else text, data), scenario


def _paths(files: ImageDataset | list[Path], scenario: Scenario | None, extractor: Extractor) -> list[Path]:
    """All of them; of a scenario those of the classes that can be learned with this backbone."""
    from if2net.backbone.rows import unseen

    if isinstance(files, list):
        return files
    wanted = range(len(files.classes)) if scenario is None else unseen(files, extractor, scenario.classes)
    return [path for part in (files.train, files.test) for path in part.of(wanted).paths]
