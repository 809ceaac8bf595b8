"""`if2net learn`: create a model from tables or images, or add classes and samples to it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from if2net.commands.answer import SENTENCES, Output, contents, counted, model_values
from if2net.commands.images import are_images, print_left_out, suggest_innate
from if2net.commands.labelled import notices_of, open_tables
from if2net.commands.options import (
    BackboneOption,
    DeviceOption,
    LabelledArgument,
    LabelOption,
    NoUndoOption,
    NoWaitOption,
    WeightOption,
    changing,
    check_order,
    save_solved,
)
from if2net.errors import ConfigurationError, InputError, RepeatedSamplesWarning, SuspectInputError
from if2net.progress import counting, progress

if TYPE_CHECKING:
    from rich.console import Console

    from if2net.learner import IF2Net

# New classes that are named on the screen.
NAMED_CLASSES = 20


def learn(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file, such as birds.if2; created if missing.")
    ],
    samples: LabelledArgument,
    label: LabelOption = None,
    weight: WeightOption = None,
    backbone: BackboneOption = None,
    cluster: Annotated[str | None, typer.Option(help="Learn on Ray: auto, or the address of a cluster.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of workers on the cluster. Default: one per machine, or one per GPU."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the random weights of a new model. Default: 0.")
    ] = None,
    device: DeviceOption = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Setting of a new model, such as encoder=wide, width=2000 or class_weight=balanced; "
            "the documentation of if2net.Config lists all. Can be repeated.",
        ),
    ] = None,
    no_undo: NoUndoOption = False,
    output: Output = SENTENCES,
    force: Annotated[
        bool,
        typer.Option("--force", help="Learn samples that look like a mistake: in other units, or learned before."),
    ] = False,
    no_wait: NoWaitOption = False,
) -> None:
    """Learn new classes and samples from tables or images.

    MODEL is created, or continues to learn without forgetting. If any sample is wrong, MODEL stays unchanged.
    A process waits while another one changes MODEL.
    """
    check_order(model, "learn")
    console = output.screen()
    if workers is not None and cluster is None:
        raise ConfigurationError("--workers needs --cluster. Choose a cluster, or leave --workers out.")
    if weight is not None and cluster is not None:
        raise ConfigurationError("Workers of a cluster take no weights. Leave out --weight or --cluster.")
    from_images = are_images(samples, backbone=backbone, label=label, weight=weight)
    with changing(model, no_wait):  # two processes that learn at once would lose the samples of one
        net = _open(model, seed, device, settings or [], backbone, from_images)
        start = time.perf_counter()  # the import of torch takes seconds, too, and is not learning
        known, before = set(net.classes.tolist()), net.samples
        checks, net.check_inputs = net.check_inputs, net.check_inputs and not force
        left_out: dict[Path, str] = {}
        notices: list[str] = []
        with _refusing_mistakes(force):
            if from_images:
                if backbone is None and net.encoder is None:
                    suggest_innate(samples, console)
                left_out = _learn_images(net, samples, backbone, device, cluster, workers, console)
            else:
                notices = _learn_tables(net, samples, label, weight, cluster, workers, console)
        net.check_inputs = checks
        save_solved(net, model, keep_old=not no_undo)
    new = [name for name in net.classes.tolist() if name not in known]
    names = ", ".join(map(str, new[:NAMED_CLASSES])) + (" …" if len(new) > NAMED_CLASSES else "")
    lines = [
        f"Learned {counted(net.samples - before, 'sample')} in {time.perf_counter() - start:.1f} s.",
        f"New classes: {names}" if new else "No new classes.",
        f"{model} now has {contents(net)}.",
    ]
    values = {"learned": net.samples - before, "new_classes": new}
    values |= {"left_out": list(left_out.values()), "notices": notices}
    output.answer(lines, model_values(model, net) | values, written=model)
    print_left_out(left_out, console)


def _open(
    path: Path, seed: int | None, device: str, settings: list[str], backbone: str | None, from_images: bool
) -> IF2Net:
    """Load the model, or create a new one if there is no such file."""
    from if2net.config import Config
    from if2net.images.learning import settings_for
    from if2net.learner import IF2Net

    if path.exists():
        if settings or seed is not None:
            raise ConfigurationError(f"{path} has its settings already. Use --set and --seed only for a new model.")
        return IF2Net.load(path, device)
    given = settings if seed is None else [*settings, f"seed={seed}"]
    config = Config.parse(given, **(settings_for(backbone) if from_images else {}))
    return IF2Net(replace(config, device=config.device if device == "auto" else device))


@contextmanager
def _refusing_mistakes(force: bool) -> Iterator[None]:
    """Refuse repeated samples unless `force` is set, and add --force to errors that it would avoid."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if force else "error", RepeatedSamplesWarning)
            yield
    except (SuspectInputError, RepeatedSamplesWarning) as error:
        raise SuspectInputError(f"{error} The model is unchanged. To learn it anyway, add --force.") from error


def _learn_images(
    net: IF2Net,
    folders: Sequence[Path],
    backbone: str | None,
    device: str,
    address: str | None,
    workers: int | None,
    console: Console,
) -> dict[Path, str]:
    """Learn folders of images here, or on the cluster at this address, and return the files that were left out."""
    if address is None:
        from if2net.images import learning

        with progress("images", console) as show:
            return learning.learn_images(net, folders, backbone=backbone, device=device, show=show).left_out
    from if2net import cluster

    _connect(address, console)
    with progress("images", console) as show:
        return cluster.learn_images(net, folders, backbone, workers=workers, show=show).left_out


def _learn_tables(
    net: IF2Net,
    paths: Sequence[Path],
    label: str | None,
    weight: str | None,
    address: str | None,
    workers: int | None,
    console: Console,
) -> list[str]:
    """Learn tables here, or on the cluster at this address, and return their notices."""
    from if2net.tables import Stream

    tables = open_tables(net, paths, label, console, weight=weight, check_inputs=net.check_inputs)
    with progress("samples", console) as show:
        if address is None:
            stream = Stream(tables, counting(show))
            try:
                net.learn(stream)
            except (InputError, RepeatedSamplesWarning) as error:
                if not stream.place or any(str(path) in str(error) for path in paths):  # an error of the table itself
                    raise
                raise type(error)(f"{stream.place}: {error}") from error
        else:
            from if2net import cluster

            _connect(address, console)
            cluster.learn_tables(net, tables, workers=workers, report=counting(show))
    net.feature_names = net.feature_names or tables[0].feature_names
    return notices_of(tables)


def _connect(address: str, console: Console) -> None:
    from if2net import cluster

    console.print(f"Connecting to Ray ({address}).", highlight=False)
    cluster.connect(address)
