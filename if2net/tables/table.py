"""Tables to learn or to predict: a file as an iterable of samples, checked piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from if2net.errors import InputError
from if2net.labels import Labels
from if2net.tables.columns import (
    LABEL_TYPES,
    Arrays,
    Columns,
    LabelType,
    columns_to_learn,
    columns_to_predict,
    feature_names,
    features_of,
    labels_of,
    of_type,
    type_of,
)
from if2net.tables.mistakes import check_classes, doubts, notices
from if2net.tables.readers import column_names, explaining_reading, kind_of, pieces

# The formats whose columns a model remembers by name.
NAMED = ("csv", "parquet")


@dataclass(frozen=True)
class Table:
    """A file of samples. Each iteration over it gives the same (X, y) in pieces of 4,096 rows, or (X, y, weights).

    The y of a table to predict is None.
    """

    path: Path
    columns: Columns
    feature_names: list[str] | None = None
    label_type: LabelType = str  # of labels that were read as text
    notices: tuple[str, ...] = ()  # sentences about choices that the user may not expect

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        with explaining_reading(self.path):
            offset = 0
            for arrays in pieces(self.path, self.columns):
                _check_numbers(arrays, self.columns, offset)
                labels = None if self.columns.label is None else self._labels(arrays, offset)
                weights = () if self.columns.weight is None else (arrays[self.columns.weight],)
                yield features_of(arrays, self.columns), labels, *weights
                offset += len(arrays[self.columns.features[0]])

    def _labels(self, arrays: Arrays, offset: int) -> np.ndarray:
        labels = labels_of(arrays, self.columns)
        if labels.dtype.kind in "fO":
            missing = [label is None or label == "" or label != label for label in labels.tolist()]
            if any(missing):
                raise InputError(
                    f"Row {offset + missing.index(True) + 1:,} has no value in the column {self.columns.label!r}. "
                    "Every sample needs a label."
                )
        if self.label_type is not str:
            typed = [of_type(label, self.label_type) for label in labels.tolist()]
            if None in typed:
                row = typed.index(None)
                raise InputError(
                    f"The label {labels[row]!r} in row {offset + row + 1:,} is not a {LABEL_TYPES[self.label_type]}, "
                    "but earlier labels are. Write all labels alike: as numbers, as True and False, or as words."
                )
            return np.array(typed)
        try:
            Labels().extended(labels)
        except InputError as error:
            rows = f"rows {offset + 1:,} to {offset + len(labels):,} of the column {self.columns.label!r}"
            raise InputError(f"{error} The label is in {rows}.") from error
        return labels.astype(str) if kind_of(self.path) == "csv" else labels


class Stream:
    """Several tables as one iterable of (X, y); `report` is called with the number of rows after each piece."""

    def __init__(self, tables: Sequence[Table], report: Callable[[int], None]) -> None:
        self.tables, self.report = tables, report
        self.place = ""  # of the latest piece

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for table in self.tables:
            rows = 0
            for piece in table:
                count = len(piece[0])
                self.place = f"{table.path}, rows {rows + 1:,} to {rows + count:,}"
                rows += count
                yield piece
                self.report(count)


def tables_to_learn(
    paths: Sequence[Path],
    label: str | None,
    known: Sequence[str] | None,
    classes: Sequence[Any],
    *,
    weight: str | None = None,
    check_inputs: bool = True,
) -> list[Table]:
    """Open tables for a model with these features and classes; the first table names the features of a new model."""
    tables: list[Table] = []
    for path in paths:
        tables.append(table_to_learn(path, label, known, classes, weight=weight, check_inputs=check_inputs))
        known = known or tables[0].feature_names
    return tables


def table_to_learn(
    path: Path,
    label: str | None = None,
    known: Sequence[str] | None = None,
    classes: Sequence[Any] = (),
    *,
    weight: str | None = None,
    check_inputs: bool = True,
) -> Table:
    """Open a table with labels and check its first piece; the labels of an .npy file are in the .npy file `label`.

    `weight` is the column of weights, or, for an .npy file, another .npy file. With `check_inputs`, labels that
    hardly ever repeat are refused.
    """
    kind = kind_of(path)
    with explaining_reading(path):
        if kind == "npy":
            if label is None or not Path(label).is_file():
                raise InputError("An .npy file holds features only. Set `label` to the .npy file of the labels.")
            if weight is not None and not Path(weight).is_file():
                raise InputError("An .npy file holds features only. Set `weight` to the .npy file of the weights.")
            columns = Columns((path.stem,), str(Path(label).resolve()), weight and str(Path(weight).resolve()))
        else:
            columns = columns_to_learn(column_names(path), label, known if kind in NAMED else None, weight)
        first = _first_piece(path, columns)
        if check_inputs:
            check_classes(first[str(columns.label)], columns, classes)
        if kind not in NAMED:
            return Table(path, columns)
        label_type = type_of(labels_of(first, columns), classes) if kind == "csv" else str
        sentences = (
            *notices(column_names(path), columns, first, new=known is None, chosen=label is not None),
            *doubts(first[str(columns.label)], columns, classes),
        )
        return Table(path, columns, feature_names(first, columns), label_type, sentences)


def table_to_predict(path: Path, label: str | None = None, known: Sequence[str] | None = None) -> Table:
    """Open a table without labels and check its first piece; a column of labels is ignored."""
    with explaining_reading(path):
        columns = columns_to_predict(column_names(path), label, known if kind_of(path) in NAMED else None)
        _first_piece(path, columns)
        return Table(path, columns)


def _first_piece(path: Path, columns: Columns) -> Arrays:
    first = next(pieces(path, columns), None)
    if first is None:
        raise InputError(f"{path} holds no samples. Add at least one row.")
    _check_numbers(first, columns, 0)
    return first


def _check_numbers(arrays: Arrays, columns: Columns, offset: int) -> None:
    for name in columns.numbers:
        values = arrays[name]
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"The column {name!r} does not hold numbers ({values.dtype}). Leave it out, or encode it as numbers."
            )
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0, 0])
            raise InputError(
                f"Row {offset + row + 1:,} of the column {name!r} is empty, NaN or infinite. Remove such rows, or "
                "fill in the values."
            )
