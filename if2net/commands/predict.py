"""`if2net predict`: the classes of the rows of tables, or of images, as CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from if2net.commands.answer import Output, QuietOption, counted, printable
from if2net.commands.images import are_images, print_left_out
from if2net.commands.labelled import numbered
from if2net.commands.options import (
    TABLES,
    DeviceOption,
    ForceOption,
    ModelArgument,
    OwnBackboneOption,
    check_order,
    check_output,
    load_to_predict,
)
from if2net.errors import OutputError
from if2net.files import replacing
from if2net.progress import progress

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from if2net.images.folders import ImageFiles
    from if2net.learner import IF2Net

    # The values that identify each sample in the output, and the features of the samples, some at a time.
    Samples = Iterator[tuple[list[tuple[Any, ...]], np.ndarray]]


def predict(
    model: ModelArgument,
    samples: Annotated[
        list[Path], typer.Argument(metavar="SAMPLES", help=f"{TABLES}, or images and folders of images.")
    ],
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    top: Annotated[
        int, typer.Option(min=1, help="Number of most probable classes to write, each with its probability.")
    ] = 1,
    unknown: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Leave the prediction empty for samples of none of the classes. About this share of the samples of "
            "known classes, such as 0.05, also loses its prediction.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the predictions. Default: the screen.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels in the tables, which is ignored.")] = None,
    backbone: OwnBackboneOption = None,
    device: DeviceOption = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object per line instead of CSV.")] = False,
    quiet: QuietOption = False,
    force: ForceOption = False,
) -> None:
    """Predict the class of each row or image, with its probability, as CSV.

    The columns are the file, the row (from 1; for tables only), the prediction and its probability, then those of the
    next classes with --top, and the probability of each class with --proba.
    """
    check_order(model, "predict")
    if out is not None:
        check_output(out, rb'file,(row,)?prediction[,\n]|\{"file": ', [model, *samples], force=force)
    net = load_to_predict(model, device)
    if unknown is not None:
        net.check_unknown(unknown)  # before features are computed
    console = Output(quiet=quiet).screen()
    left_out: Mapping[Path, str] = {}
    if are_images(samples, backbone=backbone, label=label):
        images = _images(net, samples, backbone, device, console)
        columns, left_out = ["file"], images.left_out
        blocks: Samples = (([(path,) for path in paths], X) for paths, X in images)
    else:
        columns, blocks = ["file", "row"], _rows(net, samples, label)
    ranks = ("", *(f"_{rank}" for rank in range(2, min(top, len(net.classes)) + 1)))
    header = [*columns, *(f"{column}{rank}" for rank in ranks for column in ("prediction", "probability"))]
    header += [f"p({name})" for name in net.classes.tolist()] if proba else []
    written = 0
    with _output(out) as file:
        writer = csv.writer(file, lineterminator="\n")
        if not as_json:
            writer.writerow(header)
        for places, X in blocks:
            predictions = _predictions(net, X, proba, top, unknown, float if as_json else "{:.6f}".format)
            rows = ([*place, *prediction] for place, prediction in zip(places, predictions, strict=True))
            if as_json:
                file.writelines(json.dumps(dict(zip(header, row, strict=True)), default=str) + "\n" for row in rows)
            else:
                writer.writerows(rows)
            written += len(places)
    print_left_out(left_out, console)
    if out is not None and not quiet:
        verb = "is" if written == 1 else "are"
        typer.echo(f"{counted(written, 'prediction')} {verb} in {printable(str(out))}.", err=True)


def _images(net: IF2Net, paths: Sequence[Path], backbone: str | None, device: str, console: Console) -> ImageFiles:
    """Return all images that can be used. Their features are in the cache."""
    from if2net.images import learning

    with progress("images", console) as show:
        images = learning.images_to_predict(net, paths, backbone, device, show)
        for _ in images:  # fills the cache first, because a progress bar would mix with the predictions on a screen
            pass
    return images


def _rows(net: IF2Net, paths: Sequence[Path], label: str | None) -> Samples:
    from if2net.images.model_backbone import check_tables
    from if2net.tables import table_to_predict

    check_tables(net)
    tables = [table_to_predict(path, label, net.feature_names) for path in paths]
    return ((places, X) for places, X, *_ in numbered(tables))


def _predictions(
    net: IF2Net, X: np.ndarray, proba: bool, top: int, unknown: float | None, show: Callable[[float], object]
) -> Iterator[list[object]]:
    """Give the `top` classes of each sample with their probabilities; then the probabilities of all classes.

    A sample of none of the classes has None instead of these classes, which is an empty cell in CSV: a class may be
    called anything.
    """
    names = net.classes.tolist()
    probabilities = net.probabilities(X).cpu().numpy()
    # The class comes from the probabilities, so that rounding cannot make the two disagree.
    best = (-probabilities).argsort(axis=1, kind="stable")[:, :top].tolist()
    if unknown is None:
        rejected = [False] * len(best)
    else:
        rejected = [prediction is None for prediction in net.predict(X, unknown=unknown)]
    for columns, row, none in zip(best, probabilities.round(6).tolist(), rejected, strict=True):
        shown = [show(probability) for probability in row] if proba else []
        ranked = [value for column in columns for value in (names[column], show(row[column]))]
        yield ([None] * len(ranked) if none else ranked) + shown


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    """Open the screen, or a file that appears when it is complete. File names keep bytes that are not valid text."""
    if path is None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="surrogateescape")
        try:
            yield sys.stdout
        except UnicodeEncodeError as error:  # an escaped class would be another one
            raise OutputError(
                f"The encoding {error.encoding} of the output cannot hold {error.object[error.start : error.end]!r}; "
                "write a file with --out, or set PYTHONIOENCODING=utf-8."
            ) from error
        return
    with (
        replacing(path) as temporary,
        open(temporary, "w", newline="", encoding="utf-8", errors="surrogateescape") as file,
    ):
        yield file
