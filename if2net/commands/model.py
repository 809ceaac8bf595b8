"""learn, predict and info: a model of one's own, from tables or from images."""

from __future__ import annotations

import csv
import os
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from if2net.commands import images as photographs
from if2net.commands import tables
from if2net.commands.options import BackboneOption, DeviceOption

if TYPE_CHECKING:
    import numpy as np

    from if2net.learner import IF2Net

    # Where each sample was found, and their features; some at a time.
    Samples = Iterator[tuple[list[tuple[Any, ...]], np.ndarray]]

ModelArgument = Annotated[Path, typer.Argument(help="The model file, such as birds.if2.")]
TABLES = "Tables (.csv, .tsv, .parquet, .npz or .npy)"


def learn(
    model: ModelArgument,
    samples: Annotated[
        list[Path], typer.Argument(help=f"{TABLES}, or folders of images, a sub-folder for each class.")
    ],
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of the labels (default: label, class, target or y, else the last); for .npy a file."
        ),
    ] = None,
    backbone: BackboneOption = None,
    cluster: Annotated[str | None, typer.Option(help="Learn on Ray: auto, or the address of a cluster.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="With --cluster: workers; default one a machine.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the random weights of a new model.")] = 0,
    device: DeviceOption = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value for a new model; repeatable.")
    ] = None,
) -> None:
    """Learn tables or images: MODEL is created, or goes on without forgetting. Wrong ones leave it as it was."""
    from rich.console import Console

    from if2net.commands.messages import summarise
    from if2net.errors import ConfigurationError

    console = Console(stderr=True)
    folders = None
    if workers is not None and cluster is None:
        raise ConfigurationError("--workers is for a cluster; say with --cluster which, or leave it out.")
    images = photographs.are_images(samples)
    net = _model_to_learn(model, seed, device, settings or [], photographs.SETTINGS if images else ())
    known = set(net.labels.known)
    before = _samples(net)
    start = time.perf_counter()
    if images:
        _refuse("tables", label=label)
        folders = (
            photographs.learn_images(net, samples, backbone, device, console)
            if cluster is None
            else photographs.learn_images_on(cluster, net, samples, backbone, workers, console)
        )
    else:
        _refuse("images", backbone=backbone)
        tables.learn_tables(net, samples, label, cluster, workers)
    net.save(model)
    new = [str(name) for name in net.classes.tolist() if name not in known]
    typer.echo(f"Learned {_samples(net) - before:,} samples in {time.perf_counter() - start:.1f} s.")
    typer.echo(f"New classes: {', '.join(new[:20])}{' …' if len(new) > 20 else ''}" if new else "No new classes.")
    typer.echo(f"{model} now knows {len(net.classes):,} classes from {_samples(net):,} samples.")
    if folders is not None:
        summarise(folders.files.refused, len(folders.files), console)
        summarise(folders.left_out, folders.parts, console, "folders")


def predict(
    model: ModelArgument,
    samples: Annotated[list[Path], typer.Argument(help=f"{TABLES}, or images and folders of images.")],
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    out: Annotated[Path | None, typer.Option(help="CSV file to write; else the screen.")] = None,
    label: Annotated[str | None, typer.Option(help="A column of labels, to be left out.")] = None,
    backbone: Annotated[
        str | None, typer.Option(help="Where the model's backbone is now, if it is a file that was moved.")
    ] = None,
    device: DeviceOption = "auto",
) -> None:
    """Predict the class of every row or image, as CSV: file, of tables the row (from 1), prediction."""
    from rich.console import Console

    from if2net.learner import IF2Net

    net = IF2Net.load(model, device)
    if photographs.are_images(samples):
        _refuse("tables", label=label)
        columns: tuple[str, ...] = photographs.COLUMNS
        found = photographs.images_to_predict(net, samples, backbone, device, Console(stderr=True))
    else:
        _refuse("images", backbone=backbone)
        columns, found = tables.COLUMNS, tables.rows_to_predict(net, samples, label)
    with _written_whole(out) as file:
        writer = csv.writer(file, lineterminator="\n")
        chances = [f"p({name})" for name in net.classes.tolist()] if proba else []
        writer.writerow([*columns, "prediction", *chances])
        for places, X in found:
            writer.writerows(
                [*place, *predicted] for place, predicted in zip(places, _predictions(net, X, proba), strict=True)
            )


def info(model: ModelArgument, device: DeviceOption = "auto") -> None:
    """Say what a model has learned, and whether its file is whole."""
    from if2net import modelfile
    from if2net.learner import IF2Net

    _, header = modelfile.read(model)  # a file that is not whole is an error here
    net = IF2Net.load(model, device)
    assert net.encoder is not None
    lines = {
        "model": f"{model}, {model.stat().st_size / 1e6:.1f} MB, checksum ok",
        "version": f"if2net {header['library']}, format {modelfile.FORMAT}",
        "encoder": f"{net.config.encoder}, {net.encoder.inputs:,} features, {net.config.dtype}",
        "width": f"{net.encoder.width:,}",
        **({"backbone": f"{net.backbone['text']} ({net.backbone['identity'][:8]})"} if net.backbone else {}),
        "rule": net.config.rule,
        "tasks": f"{net.tasks:,}",
        "free": f"{net.free_share():.3f} of all directions (tr(P)/S)" if len(net.labels) else "all directions",
        "samples": f"{_samples(net):,}",
        "classes": f"{len(net.classes):,}",
    }
    for name, value in lines.items():
        typer.echo(f"{name:8} {value}")
    assert net.decision is not None
    counts = net.decision.counts.tolist()
    for column in net.labels.sorted_columns:
        typer.echo(f"  {net.labels.known[column]}: {counts[column]:,} samples")


def _model_to_learn(path: Path, seed: int, device: str, settings: list[str], defaults: Sequence[str]) -> IF2Net:
    """The model in this file, or a new one where there is none."""
    from if2net.config import Config
    from if2net.errors import ConfigurationError, ModelFileError
    from if2net.learner import IF2Net

    if path.exists():
        if settings:
            raise ConfigurationError(f"{path} has its settings already; --set is for a new model.")
        return IF2Net.load(path, device)
    if not path.parent.is_dir():
        raise ModelFileError(f"The folder {path.parent} does not exist; create it before learning {path.name}.")
    config = Config.parse([*defaults, *settings])
    return IF2Net(replace(config, seed=seed, device=device))


def _refuse(kind: str, **options: object) -> None:
    """Options that are for the other kind of samples."""
    from if2net.errors import ConfigurationError

    if given := [name for name, value in options.items() if value is not None]:
        raise ConfigurationError(f"--{given[0]} is for {kind}, which these are not; leave it out.")


def _samples(net: IF2Net) -> int:
    return int(net.decision.counts.sum()) if net.decision is not None else 0


def _predictions(net: IF2Net, X: np.ndarray, proba: bool) -> Iterator[list[object]]:
    """The class of every sample, and with --proba the probabilities."""
    # With --proba the class is taken from the probabilities, so that the two cannot differ.
    chances = net.probabilities(X).cpu().numpy() if proba else None
    names = net.predict(X) if chances is None else net.classes[chances.argmax(axis=1)]
    for position, name in enumerate(names.tolist()):
        yield [name, *([] if chances is None else [f"{chance:.6f}" for chance in chances[position]])]


@contextmanager
def _written_whole(path: Path | None) -> Iterator[TextIO]:
    """The screen, or a file that appears when all of it has been written."""
    from if2net.errors import ConfigurationError

    if path is None:
        yield sys.stdout
        return
    if not path.parent.is_dir() or path.is_dir():
        raise ConfigurationError(f"{path} cannot be written; give a file in a folder that exists.")
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "w", newline="", encoding="utf-8") as file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
