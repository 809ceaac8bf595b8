"""Columns that are most likely a mistake, and choices of columns that the user may not expect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from if2net.errors import SuspectInputError, listed
from if2net.tables.columns import LABEL_NAMES, WHOLE_NUMBER, Arrays, Columns

# Names of columns that programs add to number the rows, in lower case; pandas writes no name.
INDEX_NAMES = ("", "index", "id", "unnamed: 0")
# With at least this many rows, a column that counts them is an index, and labels that hardly repeat are not classes.
ENOUGH_ROWS = 20
# Labels are not classes if the number of new ones exceeds this share of the rows. The second share is for labels that
# all have a decimal point, such as 151.0, as only measurements do.
MOST_CLASSES, MEASURED_CLASSES = 0.5, 0.1
# Whole numbers may also be measurements if the number of new ones exceeds this share of the rows.
DOUBTFUL_CLASSES = 0.25
MEASUREMENT = re.compile(r"-?\d+\.\d+([eE][-+]?\d+)?")


def check_classes(labels: np.ndarray, columns: Columns, classes: Sequence[Any]) -> None:
    """Raise an error if most rows have a new class of their own, as with measurements, names or serial numbers."""
    new = _new_classes(labels, classes)
    measured = all(MEASUREMENT.fullmatch(label) for label in new)
    if len(labels) >= ENOUGH_ROWS and len(new) > len(labels) * (MEASURED_CLASSES if measured else MOST_CLASSES):
        raise SuspectInputError(
            f"The column {columns.label!r} has {len(new):,} new classes in {len(labels):,} rows, so it does not look "
            "like the label. Set `label` to the column that holds the classes."
        )


def doubts(labels: np.ndarray, columns: Columns, classes: Sequence[Any]) -> Iterator[str]:
    """Describe labels that may be measurements: whole numbers of which few repeat."""
    new = _new_classes(labels, classes)
    if len(labels) < ENOUGH_ROWS or len(new) <= len(labels) * DOUBTFUL_CLASSES:
        return
    if all(WHOLE_NUMBER.fullmatch(label) for label in new):
        yield (
            f"The column {columns.label!r} has {len(new):,} new classes in {len(labels):,} rows. If its numbers are "
            "measurements, set `label` to the column that holds the classes."
        )


def _new_classes(labels: np.ndarray, classes: Sequence[Any]) -> set[str]:
    """Return the labels that are none of these classes, as text. Whole numbers may be written 3 or 3.0."""
    known = (*classes, *(float(label) for label in classes if isinstance(label, int)))
    return {str(label) for label in labels.flatten().tolist()} - {str(label) for label in known}


def notices(names: Sequence[str], columns: Columns, first: Arrays, *, new: bool, chosen: bool) -> Iterator[str]:
    """Describe choices that the user may not expect: the label, ignored columns, and a column that is an index."""
    assert columns.label is not None
    if not chosen:
        place = "column" if columns.label.lower() in LABEL_NAMES else "last column,"
        yield f"The labels are the {place} {columns.label!r}. Set `label` to choose another."
    used = set(columns.names)
    if ignored := [name for name in names if name not in used]:
        yield f"Columns that are not features of the model are ignored: {listed(map(repr, ignored))}."
    for name in columns.features if new else ():
        if _counts_rows(name, first[name]):
            yield f"The column {name!r} only counts the rows, and is used as a feature. Remove it if it is an index."


def _counts_rows(name: str, values: np.ndarray) -> bool:
    if values.ndim != 1 or len(values) < ENOUGH_ROWS:
        return False
    steps = np.diff(values.astype(np.float64))
    if name.lower() in INDEX_NAMES:  # the rows may be a part of a larger table
        return bool((steps >= 1).all() and (steps == np.floor(steps)).all())
    return values[0] in (0, 1) and bool((steps == 1).all())
