"""Class labels: in the order in which they appeared (the columns of β), and sorted, as users see them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
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

    @classmethod
    def restored(cls, known: Sequence[Any]) -> Labels:
        """Return the classes of a file, in its order, or raise an error if they cannot be classes."""
        check(known)
        if len(set(known)) < len(known):
            raise InputError("A class occurs twice.")
        return cls(known)

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

    @cached_property
    def hashes(self) -> np.ndarray:
        """A 64-bit number per class, which depends on nothing but its label."""
        return np.array([_hash(label) for label in self.known], dtype=np.int64)

    def extended(self, y: np.ndarray) -> Labels:
        """Return these classes and the new ones in y; raise InputError where they cannot be sorted together."""
        new = _plain(y)
        check([*self.known, *new])
        known = set(self.known)
        more = [label for label in sorted(set(new)) if label not in known]
        return Labels([*self.known, *more]) if more else self

    def columns(self, y: np.ndarray) -> np.ndarray:
        """Return the column of each label in y, all of which must be known."""
        check([*self.known, *_plain(y)])
        distinct, places = np.unique(y, return_inverse=True)
        index = {label: column for column, label in enumerate(self.known)}
        unknown = [label for label in distinct.tolist() if label not in index]
        if unknown:
            raise InputError(f"These classes have never been learned: {', '.join(map(repr, unknown[:5]))}.")
        return np.array([index[label] for label in distinct.tolist()], dtype=np.int64)[places]

    def keep(self, columns: Sequence[int]) -> Labels:
        """Return the classes of these columns."""
        return Labels(self.known[column] for column in columns)


def check(labels: Sequence[Any]) -> None:
    """Raise an error unless the labels are of one kind, and stay different from each other in a NumPy array."""
    kinds = {_kind(label) for label in labels}
    if len(kinds) > 1:
        raise InputError(
            f"Labels of the kinds {' and '.join(sorted(kinds))} cannot be mixed; use one kind for all classes, such "
            "as text."
        )
    for label in labels if kinds == {"text"} else ():
        if label.endswith("\0"):
            raise InputError(f"The label {label!r} ends in a NUL character; remove the character from the labels.")
    if kinds == {"number"}:
        # Beyond 2⁵³ two whole numbers can be the same float.
        most = 2**53 if any(isinstance(label, float) for label in labels) else 2**63 - 1
        for label in labels:
            if not -most <= label <= most:
                shown = repr(label) if isinstance(label, float) or abs(label) < 10**30 else "of more than 30 digits"
                raise InputError(f"The label {shown} is too large for a class; write such labels as text.")


def _kind(label: Any) -> str:
    if isinstance(label, bool):
        return "truth value"
    if isinstance(label, int | float):
        return "number"
    if isinstance(label, str):
        return "text"
    raise InputError(
        f"Labels must be text, numbers or truth values, not {type(label).__name__}; convert them first, "
        "for example with [str(label) for label in y]."
    )


def _plain(y: np.ndarray) -> list[Any]:
    """Return labels as Python's own values, which a model file can store, each at least once."""
    distinct = y if y.dtype == object else np.unique(y)  # `unique` takes True for 1 where both are among objects
    texts = (label[:] if isinstance(label, str) else label for label in distinct)  # `item` cuts a NUL at the end
    return [
        label.item() if isinstance(label, np.generic) and label.dtype.kind in "biuf" else label for label in texts
    ]


def _hash(label: Any) -> int:
    text = label if isinstance(label, str) else repr(float(label) if float(label) == label else label)  # 1 equals 1.0
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), signed=True)
