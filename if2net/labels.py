"""Classes in the order in which they appeared (the columns of β), and sorted as users see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from if2net.errors import InputError


class Labels:
    """Any sortable labels; new ones just appear.

    >>> labels = Labels()
    >>> labels.extend(np.array(["wren", "owl"]))
    >>> labels.extend(np.array(["jay", "owl"]))
    >>> labels.known, labels.sorted.tolist()
    (['owl', 'wren', 'jay'], ['jay', 'owl', 'wren'])
    >>> labels.columns(np.array(["jay", "wren"])).tolist()
    [2, 1]
    """

    def __init__(self, known: list[Any] | None = None) -> None:
        self.known: list[Any] = list(known or [])

    def __len__(self) -> int:
        return len(self.known)

    @property
    def sorted(self) -> np.ndarray:
        return np.array(sorted(self.known))

    @property
    def sorted_columns(self) -> list[int]:
        """The column of each class, in sorted order."""
        return sorted(range(len(self.known)), key=self.known.__getitem__)

    def check(self, y: np.ndarray) -> list[Any]:
        """The labels of y that are new here; an error where they cannot be sorted together with the known."""
        try:
            distinct = _plain(np.unique(y))
            sorted([*self.known, *distinct])
        except TypeError as error:
            kinds = sorted({type(label).__name__ for label in [*self.known, *y.tolist()]})
            raise InputError(
                f"Labels of the kinds {', '.join(kinds)} cannot be compared with each other; "
                "use one kind for all classes, such as strings."
            ) from error
        known = set(self.known)
        return [label for label in distinct if label not in known]

    def extend(self, y: np.ndarray) -> None:
        self.known += self.check(y)

    def columns(self, y: np.ndarray) -> np.ndarray:
        """The column of every label of y, all of which must be known."""
        distinct = np.unique(y)
        index = {label: column for column, label in enumerate(self.known)}
        unknown = [label for label in distinct.tolist() if label not in index]
        if unknown:
            raise InputError(f"These classes have never been learned: {', '.join(map(repr, unknown[:5]))}.")
        return np.array([index[label] for label in distinct.tolist()], dtype=np.int64)[np.searchsorted(distinct, y)]

    def keep(self, columns: list[int]) -> None:
        self.known = [self.known[column] for column in columns]


def _plain(distinct: np.ndarray) -> list[Any]:
    """Python's own values, which a model file can hold."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in distinct.tolist()]
    if distinct.dtype.kind in "mM" or not all(isinstance(label, str | int | float) for label in plain):
        raise InputError(
            f"Labels must be text, numbers or truth values, not {type(distinct[0]).__name__}; convert them first, "
            "for example with [str(label) for label in y]."
        )
    return plain
