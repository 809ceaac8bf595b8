"""Samples with labels for a model that exists, some at a time: rows of tables, or images in a folder per class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from if2net.commands.answer import printable
from if2net.commands.images import are_images
from if2net.commands.options import as_options
from if2net.progress import counting, progress

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from if2net.learner import IF2Net
    from if2net.tables import Table

    # The path of each image, or the path and the row (from 1); the features; the labels and the weights, or None.
    Block = tuple[list[tuple[Any, ...]], np.ndarray, Any, np.ndarray | None]


def labelled_samples(
    net: IF2Net,
    paths: Sequence[Path],
    label: str | None,
    backbone: str | None,
    device: str,
    console: Console,
    *,
    weight: str | None = None,
) -> tuple[Iterator[Block], Mapping[Path, str]]:
    """Return the samples in blocks, and the files that cannot be used, which are complete after the last block."""
    if are_images(paths, backbone=backbone, label=label, weight=weight):
        return _images(net, paths, backbone, device, console)
    return _rows(net, paths, label, weight, console), {}


def _images(
    net: IF2Net, folders: Sequence[Path], backbone: str | None, device: str, console: Console
) -> tuple[Iterator[Block], Mapping[Path, str]]:
    from if2net.config import resolve_device
    from if2net.images.folders import ImageFiles, list_classes
    from if2net.images.model_backbone import extractor_for

    labels, left_out = list_classes(folders)
    extractor, _ = extractor_for(net, backbone, resolve_device(device))

    def blocks() -> Iterator[Block]:
        import numpy as np

        with progress("images", console) as show:
            for paths, X in ImageFiles(list(labels), extractor, show, left_out):
                yield [(path,) for path in paths], X, np.array([labels[path] for path in paths]), None

    return blocks(), left_out


def open_tables(
    net: IF2Net,
    paths: Sequence[Path],
    label: str | None,
    console: Console,
    *,
    weight: str | None = None,
    check_inputs: bool = False,
) -> list[Table]:
    """Open tables with labels, and print their notices."""
    from if2net.images.model_backbone import check_tables
    from if2net.tables import tables_to_learn

    check_tables(net)
    known, classes = net.feature_names, net.classes.tolist()
    tables = tables_to_learn(paths, label, known, classes, weight=weight, check_inputs=check_inputs)
    for notice in notices_of(tables):
        console.print(printable(notice), highlight=False, markup=False)
    return tables


def notices_of(tables: Sequence[Table]) -> list[str]:
    """Return the notices of tables, each sentence once."""
    return list(dict.fromkeys(as_options(notice) for table in tables for notice in table.notices))


def numbered(tables: Sequence[Table]) -> Iterator[Block]:
    """Give the pieces of tables, with the path and the number of each row."""
    for table in tables:
        first = 1
        for X, y, *weights in table:
            yield [(table.path, first + place) for place in range(len(X))], X, y, weights[0] if weights else None
            first += len(X)


def _rows(
    net: IF2Net, paths: Sequence[Path], label: str | None, weight: str | None, console: Console
) -> Iterator[Block]:
    tables = open_tables(net, paths, label, console, weight=weight)
    with progress("samples", console) as show:
        count = counting(show)
        for block in numbered(tables):
            yield block
            count(len(block[0]))
