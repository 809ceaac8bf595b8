"""Which column of a table is the label and which are the features, and both of them as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from if2net.errors import InputError, unknown

LABEL_NAMES = ("label", "class", "target", "y")

# A part of a table: its columns by name, all of one length. A column may hold vectors or images.
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Columns:
    """The names of what is learned from, and of what is to be predicted."""

    features: tuple[str, ...]
    label: str | None

    @property
    def names(self) -> list[str]:
        return [*self.features, *([] if self.label is None else [self.label])]


def columns_to_learn(names: Sequence[str], label: str | None = None, known: Sequence[str] | None = None) -> Columns:
    """The label is the column so called, else the one named label, class, target or y, else the last one.

    `known` are the features of a model that has learned from a table already; other columns are left out.

    >>> columns_to_learn(["Class", "width", "height"])
    Columns(features=('width', 'height'), label='Class')
    """
    chosen = _label(names, label) or names[-1]
    if label is None and chosen in (known or ()):
        raise InputError(
            f"No column looks like the label: the last one, {chosen!r}, is a feature of the model; "
            "add a column of labels, or say with --label (label= in Python) which it is."
        )
    return Columns(_features(names, chosen, known), chosen)


def columns_to_predict(names: Sequence[str], label: str | None = None, known: Sequence[str] | None = None) -> Columns:
    """The features alone; labels may be there, and are not looked at."""
    return Columns(_features(names, _label(names, label), known), None)


def features_of(arrays: Arrays, columns: Columns) -> np.ndarray:
    """The feature columns side by side, samples × features; what is not a single number is flattened."""
    parts = [arrays[name] for name in columns.features]
    rows = len(parts[0])
    if len(parts) == 1:
        return parts[0].reshape(rows, -1)
    return np.hstack([part.reshape(rows, -1) for part in parts])


def labels_of(arrays: Arrays, columns: Columns) -> np.ndarray:
    """The labels; what has a fraction is a measurement and no class."""
    assert columns.label is not None
    labels = arrays[columns.label]
    if labels.dtype.kind != "f" or np.isnan(labels).any():  # a label that is missing is refused by the learner
        return labels
    if not (labels == np.floor(labels)).all():
        raise InputError(
            f"The column {columns.label!r} holds fractions, which are no classes; "
            "say with --label (label= in Python) which column holds the classes."
        )
    return labels.astype(np.int64)


def feature_names(arrays: Arrays, columns: Columns) -> list[str] | None:
    """The names of the features where every one of them is a column of its own."""
    single = all(arrays[name].ndim == 1 for name in columns.features)
    return list(columns.features) if single else None


def _label(names: Sequence[str], label: str | None) -> str | None:
    """The one asked for, or the one with the name of a label."""
    if label is not None:
        if label not in names:
            raise unknown("column", label, names)
        return label
    found = [name for name in names if name.lower() in LABEL_NAMES]
    if len(found) > 1:
        raise InputError(
            f"The columns {' and '.join(map(repr, found))} could each be the label; "
            "say with --label (label= in Python) which it is."
        )
    return found[0] if found and len(names) > 1 else None


def _features(names: Sequence[str], label: str | None, known: Sequence[str] | None) -> tuple[str, ...]:
    if known is not None:
        missing = [name for name in known if name not in names or name == label]
        if missing:
            raise InputError(
                f"The model has learned from columns that are missing here: {', '.join(map(repr, missing[:5]))}; "
                "give tables with the same columns, or start a new model."
            )
        return tuple(known)
    features = tuple(name for name in names if name != label)
    if not features:
        raise InputError(f"There is no column beside the label {label!r}; features are needed as well.")
    return features
