"""Columns of a table: which are features, which are the label and the weight, and of which type the labels are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from if2net.errors import InputError, unknown

# The label is the column with one of these names, in upper or lower case, unless another one is chosen.
LABEL_NAMES = ("label", "class", "target", "y")
# "007" and "1.0" stay text, because they would be written differently as numbers; so do numbers beyond 64 bits.
WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,17}")
TRUTH_VALUES = {"true": True, "false": False}
LabelType = type[str] | type[int] | type[bool]
LABEL_TYPES: dict[LabelType, str] = {int: "whole number", bool: "truth value"}

# Columns of a table by name, all of one length. A column may hold vectors or images.
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Columns:
    """The names of the features, and the names of the label and the weight where they are needed."""

    features: tuple[str, ...]
    label: str | None
    weight: str | None = None

    @property
    def names(self) -> list[str]:
        return [*self.features, *(name for name in (self.label, self.weight) if name is not None)]

    @property
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        return [*self.features, *([] if self.weight is None else [self.weight])]


def columns_to_learn(
    names: Sequence[str], label: str | None = None, known: Sequence[str] | None = None, weight: str | None = None
) -> Columns:
    """Choose the label and the features: by default the label is named label, class, target or y, or comes last.

    `known` are the features of a model that has learned from tables before; other columns are ignored.

    >>> columns_to_learn(["Class", "width", "height"])
    Columns(features=('width', 'height'), label='Class', weight=None)
    """
    if weight is not None:
        if weight not in names:
            raise unknown("column", weight, names)
        if weight in (label, *(known or ())):
            raise InputError(f"The column {weight!r} cannot be the weight: it is a feature or the label already.")
        names = [name for name in names if name != weight]
    if not names:
        raise InputError("The table has no columns of features and labels. Add them.")
    chosen = _label(names, label) or names[-1]
    if label is None and chosen in (known or ()):
        raise InputError(
            f"No column looks like the label: the last one, {chosen!r}, is a feature of the model. "
            "Add a column of labels, or set `label` to its name."
        )
    return Columns(_features(names, chosen, known), chosen, weight)


def columns_to_predict(names: Sequence[str], label: str | None = None, known: Sequence[str] | None = None) -> Columns:
    """Choose the features among the columns of a table; a column of labels is ignored."""
    return Columns(_features(names, _label(names, label), known), None)


def features_of(arrays: Arrays, columns: Columns) -> np.ndarray:
    """Join the feature columns to a matrix, samples × features; vectors and images are flattened."""
    parts = [arrays[name].reshape(len(arrays[name]), -1) for name in columns.features]
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def labels_of(arrays: Arrays, columns: Columns) -> np.ndarray:
    """Return the labels; numbers with a fraction are refused, because they are measurements and not classes."""
    assert columns.label is not None
    labels = arrays[columns.label]
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.ndim != 1:
        raise InputError(f"The column {columns.label!r} holds more than one label per sample. Give one for each.")
    if labels.dtype.kind != "f" or not (np.abs(labels.astype(float)) <= 2**53).all():  # refused as labels later
        return labels
    if not (labels == np.floor(labels)).all():
        raise InputError(
            f"The column {columns.label!r} holds fractions, so it cannot be the label. "
            "Set `label` to the column that holds the classes."
        )
    return labels.astype(np.int64)


def feature_names(arrays: Arrays, columns: Columns) -> list[str] | None:
    """Return the names of the features, or None where a column holds vectors or images."""
    single = all(arrays[name].ndim == 1 for name in columns.features)
    return list(columns.features) if single else None


def _label(names: Sequence[str], label: str | None) -> str | None:
    if label is not None:
        if label not in names:
            raise unknown("column", label, names)
        return label
    candidates = [name for name in names if name.lower() in LABEL_NAMES]
    if len(candidates) > 1:
        raise InputError(
            f"The columns {' and '.join(map(repr, candidates))} could each be the label. Set `label` to one of them."
        )
    return candidates[0] if candidates and len(names) > 1 else None


def _features(names: Sequence[str], label: str | None, known: Sequence[str] | None) -> tuple[str, ...]:
    if known is not None:
        present = set(names) - {label}
        missing = [name for name in known if name not in present]
        if missing:
            raise InputError(
                f"Features of the model are missing in this table: {', '.join(map(repr, missing[:5]))}. "
                "Add these columns, or start a new model."
            )
        return tuple(known)
    features = tuple(name for name in names if name != label)
    if not features:
        raise InputError(f"The table has no column besides the label {label!r}. Add columns of features.")
    return features


def type_of(labels: np.ndarray, classes: Sequence[Any]) -> LabelType:
    """Return the type of labels that were read as text: that of the model's classes, or of all first labels.

    >>> type_of(np.array(["1", "2"]), []), type_of(np.array(["True"]), [False, True])
    (<class 'int'>, <class 'bool'>)
    """
    if not len(classes):
        return int if all(WHOLE_NUMBER.fullmatch(label) for label in set(labels.tolist())) else str
    if all(isinstance(label, bool | np.bool_) for label in classes):
        return bool
    return int if all(isinstance(label, int | np.integer) for label in classes) else str


def of_type(label: str, kind: LabelType) -> str | int | bool | None:
    """Return a label that was read as text as another type; None if it is not written like one."""
    if kind is int:
        return int(label) if WHOLE_NUMBER.fullmatch(label) else None
    return TRUTH_VALUES.get(label.lower()) if kind is bool else label
