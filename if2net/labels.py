"""Class labels: in the order in which they appeared (the columns of β), and sorted, as users see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from if2net.errors import InputError


class Labels:
    """The known classes. Labels are text, numbers or truth values that can be sorted together. Immutable.

    >>> labels = Labels().extended(np.array(["wren", "owl"])).extended(np.array(["jay", "owl"]))
    >>> labels.known, labels.sorted.tolist()
    (('owl', 'wren', 'jay'), ['jay', 'owl', 'wren'])
    >>> labels.columns(np.array(["jay", "wren"])).tolist()
    [2, 1]
    """

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self.known = tuple(known)

    def __len__(self) -> int:
        return len(self.known)

    @property
    def sorted(self) -> np.ndarray:
        """The classes in sorted order."""
        return np.array(sorted(self.known))

    @property
    def sorted_columns(self) -> list[int]:
        """The column of each class, in sorted order of the classes."""
        return sorted(range(len(self.known)), key=self.known.__getitem__)

    def extended(self, y: np.ndarray) -> Labels:
        """Return these classes and the new ones in y; raise InputError where they cannot be sorted together."""
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
        return Labels([*self.known, *(label for label in distinct if label not in known)])

    def columns(self, y: np.ndarray) -> np.ndarray:
        """Return the column of each label in y, all of which must be known."""
        distinct, places = np.unique(y, return_inverse=True)
        index = {label: column for column, label in enumerate(self.known)}
        unknown = [label for label in distinct.tolist() if label not in index]
        if unknown:
            raise InputError(f"These classes have never been learned: {', '.join(map(repr, unknown[:5]))}.")
        return np.array([index[label] for label in distinct.tolist()], dtype=np.int64)[places]

    def keep(self, columns: Sequence[int]) -> Labels:
        """Return the classes of these columns."""
        return Labels(self.known[column] for column in columns)


def _plain(distinct: np.ndarray) -> list[Any]:
    """Convert labels to Python's own values, which a model file can store."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in distinct.tolist()]
    if distinct.dtype.kind in "mM" or not all(isinstance(label, str | int | float) for label in plain):
        raise InputError(
            f"Labels must be text, numbers or truth values, not {type(distinct[0]).__name__}; convert them first, "
            "for example with [str(label) for label in y]."
        )
    return plain
