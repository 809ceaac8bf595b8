"""`if2net predict`: the classes of the rows of tables, or of images, as CSV."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from if2net.commands import images as pictures
from if2net.commands.labelled import numbered
from if2net.commands.options import (
    TABLES,
    DeviceOption,
    ForceOption,
    ModelArgument,
    OwnBackboneOption,
    check_output,
    load_to_predict,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    from if2net.commands.options import Samples
    from if2net.learner import IF2Net


def predict(
    model: ModelArgument,
    samples: Annotated[
        list[Path], typer.Argument(metavar="SAMPLES", help=f"{TABLES}, or images and folders of images.")
    ],
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    top: Annotated[
        int, typer.Option(min=0, help="Number of most probable classes to write, each with its probability.")
    ] = 0,
    out: Annotated[Path | None, typer.Option(help="CSV file for the predictions. Default: the screen.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels in the tables, which is ignored.")] = None,
    backbone: OwnBackboneOption = None,
    device: DeviceOption = "auto",
    force: ForceOption = False,
) -> None:
    """Predict the class of each row or image, as CSV.

    The columns are the file, the row (from 1; for tables only), the prediction and, with --top or --proba,
    probabilities. These are calibrated first, which takes some seconds for a wide model.
    """
    from rich.console import Console

    if out is not None:
        check_output(out, rb"file,(row,)?prediction[,\n]", [model, *samples], force=force)
    net = load_to_predict(model, device)
    if pictures.are_images(samples):
        refuse("tables", label=label)
        columns: tuple[str, ...] = pictures.COLUMNS
        blocks = pictures.images_to_predict(net, samples, backbone, device, Console(stderr=True))
    else:
        refuse("images", backbone=backbone)
        columns, blocks = ("file", "row"), _rows_to_predict(net, samples, label)
    written = 0
    with _output(out) as file:
        writer = csv.writer(file, lineterminator="\n")
        probabilities = [f"p({name})" for name in net.classes.tolist()] if proba else []
        ranks = range(2, min(top, len(net.classes)) + 1)
        further = [f"{column}_{rank}" for rank in ranks for column in ("prediction", "probability")]
        writer.writerow([*columns, "prediction", *(["probability"] if top else []), *further, *probabilities])
        for places, X in blocks:
            predictions = _predictions(net, X, proba, top)
            writer.writerows([*place, *prediction] for place, prediction in zip(places, predictions, strict=True))
            written += len(places)
    if out is not None:
        typer.echo(f"{written:,} predictions are in {out}.", err=True)


def _rows_to_predict(net: IF2Net, paths: Sequence[Path], label: str | None) -> Samples:
    from if2net.images.model_backbone import check_tables
    from if2net.tables import table_to_predict

    check_tables(net)
    tables = [table_to_predict(path, label, net.feature_names) for path in paths]
    return ((places, X) for places, X, _ in numbered(tables))


def _predictions(net: IF2Net, X: np.ndarray, proba: bool, top: int) -> Iterator[list[object]]:
    """Give the class of each sample, or its `top` classes with their probabilities; then those of all classes."""
    names = net.classes.tolist()
    if not proba and not top:
        yield from ([name] for name in net.predict(X).tolist())
        return
    probabilities = net.probabilities(X).cpu().numpy()
    # The class comes from the probabilities, so that rounding cannot make the two disagree.
    best = (-probabilities).argsort(axis=1, kind="stable")[:, : max(top, 1)].tolist()
    for columns, row in zip(best, probabilities, strict=True):
        texts = [f"{probability:.6f}" for probability in row]
        ranked = [value for column in columns for value in (names[column], texts[column])]
        yield [*(ranked if top else ranked[:1]), *(texts if proba else [])]


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    """Open the screen, or a file that appears when all of it was written. File names keep bytes that are no text."""
    from if2net.files import replacing

    if path is None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="surrogateescape")
        yield sys.stdout
        return
    with (
        replacing(path) as temporary,
        open(temporary, "w", newline="", encoding="utf-8", errors="surrogateescape") as file,
    ):
        yield file
