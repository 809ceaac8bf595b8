"""Tables as streams of (X, y): what is larger than memory is read a piece at a time."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from if2net.errors import InputError
from if2net.tables.columns import (
    Arrays,
    Columns,
    columns_to_learn,
    columns_to_predict,
    feature_names,
    features_of,
    labels_of,
)
from if2net.tables.formats import FORMATS, Format
from if2net.tables.npy import ROWS

# "007" and "1.0" stay text: as numbers they would not be written so again.
WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d*")


@dataclass(frozen=True)
class Table:
    """A file of samples; going over it gives (X, y) in pieces of one size, the same ones every time.

    The first piece is always the first 4,096 rows, however the file was written: a learner that is new takes the
    scale of its inputs from it.
    """

    path: Path
    columns: Columns
    feature_names: list[str] | None
    whole_labels: bool  # whether labels that were read as text are whole numbers

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        with _told(self.path):
            for arrays in _in_pieces(format_of(self.path).read(self.path, self.columns)):
                yield features_of(arrays, self.columns), self._labels(arrays)

    def features(self) -> Iterator[np.ndarray]:
        """X alone, for predicting."""
        with _told(self.path):
            for arrays in _in_pieces(format_of(self.path).read(self.path, self.columns)):
                yield features_of(arrays, self.columns)

    def _labels(self, arrays: Arrays) -> np.ndarray:
        labels = labels_of(arrays, self.columns)
        if not format_of(self.path).text_labels:
            return labels
        if (labels == "").any():
            raise InputError(f"The column {self.columns.label!r} has empty cells; every sample needs a label.")
        if not self.whole_labels:
            return labels.astype(str)
        odd = [label for label in np.unique(labels.astype(str)).tolist() if not WHOLE_NUMBER.fullmatch(label)]
        if odd:
            raise InputError(
                f"The label {odd[0]!r} is no whole number, but those before it are; write all labels as words "
                "(such as c1, c2), or all as numbers."
            )
        return labels.astype(np.int64)


class Stream:
    """Several tables as one iterable of (X, y) that can be gone over again; the samples are reported as they go."""

    def __init__(self, tables: Sequence[Table], report: Callable[[int], None]) -> None:
        self.tables, self.report = tables, report

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for table in self.tables:
            for X, y in table:
                yield X, y
                self.report(len(X))


def tables_to_learn(
    paths: Sequence[Path], label: str | None, known: Sequence[str] | None, classes: Sequence[Any]
) -> list[Table]:
    """The tables of a model that knows these features and classes; the first one says how to read the others."""
    tables: list[Table] = []
    for path in paths:
        tables.append(table_to_learn(path, label, known, classes))
        known = known or tables[0].feature_names
    return tables


def table_to_learn(
    path: Path, label: str | None = None, known: Sequence[str] | None = None, classes: Sequence[Any] = ()
) -> Table:
    """A table with its label; `known` and `classes` are the features and classes of a model that goes on with it."""
    layout = format_of(path)
    with _told(path):
        names = layout.names(path)
        if path.suffix == ".npy":
            columns = Columns(tuple(names), str(_npy_labels(label).resolve()))
        else:
            columns = columns_to_learn(names, label, known if layout.named_columns else None)
        first = _first(layout, path, columns)
        whole = layout.text_labels and _whole(first, columns, classes)
        return Table(path, columns, feature_names(first, columns) if layout.named_columns else None, whole)


def table_to_predict(path: Path, label: str | None = None, known: Sequence[str] | None = None) -> Table:
    """A table whose labels, if it has any, are not looked at."""
    layout = format_of(path)
    with _told(path):
        columns = columns_to_predict(layout.names(path), label, known if layout.named_columns else None)
        _first(layout, path, columns)
        return Table(path, columns, None, False)


def format_of(path: Path) -> Format:
    """How this file is read, by the end of its name."""
    if path.is_dir():
        raise InputError(f"{path} is a folder and no table; give tables: {_endings()}.")
    if not path.is_file():
        raise InputError(f"There is no file or folder {path}; check the path.")
    for ending, layout in FORMATS.items():
        if path.name.lower().endswith(ending):
            return layout
    raise InputError(f"{path} is of no kind that can be read; give a table ({_endings()}) or images.")


def _endings() -> str:
    return ", ".join(FORMATS)


def _npy_labels(label: str | None) -> Path:
    if label is None or not Path(label).is_file():
        raise InputError("An .npy file holds features alone; give the file of the labels with --label LABELS.npy.")
    return Path(label)


def _first(layout: Format, path: Path, columns: Columns) -> Arrays:
    first = next(_in_pieces(layout.read(path, columns)), None)
    if first is None:
        raise InputError(f"{path} holds no samples; give at least one.")
    return first


def _whole(first: Arrays, columns: Columns, classes: Sequence[Any]) -> bool:
    """As the model's classes are, or as the first labels look."""
    if len(classes):
        return all(isinstance(label, int | np.integer) for label in classes)
    labels = np.unique(first[columns.label or ""].astype(str))
    return all(WHOLE_NUMBER.fullmatch(label) for label in labels)


def _in_pieces(parts: Iterator[Arrays]) -> Iterator[Arrays]:
    """The same rows in pieces of ROWS, whatever the sizes they were read in."""
    waiting: list[Arrays] = []
    rows = 0
    for part in parts:
        waiting.append(part)
        rows += _length(part)
        if rows >= ROWS:
            joined = _joined(waiting)
            for start in range(0, rows - ROWS + 1, ROWS):
                yield {name: values[start : start + ROWS] for name, values in joined.items()}
            rest = rows % ROWS
            waiting = [{name: values[len(values) - rest :] for name, values in joined.items()}]
            rows = rest
    if rows:
        yield _joined(waiting)


def _joined(parts: list[Arrays]) -> Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _length(part: Arrays) -> int:
    return len(next(iter(part.values())))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What is wrong with a file is told with its name, and without the words of the library that found it."""
    try:
        yield
    except InputError as error:
        raise error if str(path) in str(error) else InputError(f"{path}: {error}") from error
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read ({error}). Features must be numbers: leave out or encode what is text, and get "
            "the file again if it is damaged."
        ) from error
