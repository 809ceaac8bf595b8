"""Class labels: in the order in which they appeared (the columns of β), and sorted, as users see them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from if2net.errors import InputError

# The most characters of a text label. Without a limit, a small file could hold a very long label for each row.
LONGEST = 1000
# Halves of surrogate pairs, except those that stand for undecodable bytes in the names of folders.
NOT_TEXT = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")


class Labels:
    """The known classes. Labels are text, numbers or truth values, all of one kind. Immutable.

    >>> labels = Labels().extended(np.array(["wren", "owl"])).extended(np.array(["jay", "owl"]))
    >>> labels.known, labels.sorted.tolist()
    (('owl', 'wren', 'jay'), ['jay', 'owl', 'wren'])
    >>> labels.columns(np.array(["jay", "wren"])).tolist()
    [2, 1]
    >>> labels.rename({"owl": "barn owl"}).known
    ('barn owl', 'wren', 'jay')

    A class keeps the hash of the label that it was first learned under. So a rename changes nothing else, and a class
    is recognised in another learner that does not know its new name.
    """

    def __init__(
        self, known: Iterable[Any] = (), renamed: Mapping[Any, int] | None = None, retired: Iterable[int] = ()
    ) -> None:
        self.known = tuple(known)
        # Hashes of labels that are not those of the labels themselves. A fork has them before it learns the classes.
        self.renamed = dict(renamed or {})
        # The hashes of forgotten classes whose samples are still among the members. No new class may get them.
        self.retired = frozenset(retired)

    @classmethod
    def restored(cls, known: Sequence[Any], renamed: Sequence[tuple[Any, int]], retired: Sequence[int]) -> Labels:
        """Return the classes of a file, in its order, or raise an error if they cannot be classes."""
        check(known)
        for label, _ in renamed:
            check([label])
        if any(not -(2**63) <= number < 2**63 for number in (*retired, *(number for _, number in renamed))):
            raise InputError("The hash of a class is too large.")
        labels = cls(known, dict(renamed), retired)
        if len(set(known)) < len(known) or len(labels._names) < len({*known, *labels.renamed}):
            raise InputError("A class occurs twice.")
        return labels

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
        """A 64-bit number per class. It comes from its label, or from the first one if the class was renamed."""
        return np.array([self._hash(label) for label in self.known], dtype=np.int64)

    def extended(self, y: np.ndarray) -> Labels:
        """Return these classes and the new ones in y; raise InputError where they are not of one kind."""
        new = _plain(y)
        check([*self.known, *new])
        known = set(self.known)
        more = [label for label in sorted(set(new)) if label not in known]
        return self._with({label: self._new_hash(label) for label in more}) if more else self

    def joined(self, other: Labels) -> tuple[Labels, np.ndarray]:
        """Return these classes with those of another learner, and the columns of the latter in the result.

        Classes with the same hash are the same class, and the name here stays.
        """
        names = self._names
        taken, here = set(names.values()), {}
        for number, label in zip(other.hashes.tolist(), other.known, strict=True):
            if number not in names and label in taken:
                raise InputError(
                    f"Both learners have a class {label!r}, but it is not the same class: one of them was renamed. "
                    "Rename the class in one of the learners before merging."
                )
            name = names.get(number, label)
            if name not in self.renamed and label not in other.renamed:
                check([name, label])  # 1, True and the text "1.0" have the same hash
            here[name] = number
        check([*self.known, *here])
        known = set(self.known)
        more = {label: here[label] for label in sorted(here) if label not in known}
        joined = self._with(more, other.retired.difference(names))
        return joined, joined.columns(np.array(list(here), dtype=object))

    def rename(self, names: Mapping[Any, Any]) -> Labels:
        """Return the classes with other names, all at once, so that two classes can swap theirs."""
        old, new = (_plain(np.array(list(side), dtype=object)) for side in (names, names.values()))
        known = list(self.known)
        for column, label in zip(self.columns(np.array(old, dtype=object)), new, strict=True):
            known[column] = label
        check(known)
        for label, count in Counter(known).items():
            if count > 1:
                raise InputError(f"Two classes would have the name {label!r}; choose another name for one of them.")
        hashes = {label: number for label, number in self.renamed.items() if label not in self.known}
        hashes |= zip(known, self.hashes.tolist(), strict=True)
        renamed = {label: number for label, number in hashes.items() if number != _hash(label)}
        return Labels(known, renamed, self.retired)

    def columns(self, y: np.ndarray) -> np.ndarray:
        """Return the column of each label in y, all of which must be known."""
        check([*self.known, *_plain(y)])
        distinct, places = np.unique(y, return_inverse=True)
        index = {label: column for column, label in enumerate(self.known)}
        unknown = [label for label in distinct.tolist() if label not in index]
        if unknown:
            raise InputError(f"These classes have never been learned: {', '.join(map(repr, unknown[:5]))}.")
        return np.array([index[label] for label in distinct.tolist()], dtype=np.int64)[places]

    def keep(self, columns: Sequence[int], retire: Iterable[int] = ()) -> Labels:
        """Return the classes of these columns. Their samples may remain among the members of the columns `retire`."""
        kept = [self.known[column] for column in columns]
        gone = set(self.known) - set(kept)
        renamed = {label: number for label, number in self.renamed.items() if label not in gone}
        return Labels(kept, renamed, self.retired | {int(self.hashes[column]) for column in retire})

    def fork(self) -> Labels:
        """Return no classes. The hashes of these names stay the same when they are learned."""
        return Labels((), self.renamed, self.retired)

    @property
    def _names(self) -> dict[int, Any]:
        """The label of each hash, also of those that are not learned yet."""
        return {self._hash(label): label for label in (*self.known, *self.renamed)}

    def _hash(self, label: Any) -> int:
        return self.renamed[label] if label in self.renamed else _hash(label)

    def _new_hash(self, label: Any) -> int:
        """Return the hash of a new class: that of its label, unless a renamed or forgotten class has kept it."""
        number, taken = self._hash(label), self.retired.union(self.renamed.values())
        while label not in self.renamed and number in taken:
            number = _hash(str(number))
        return number

    def _with(self, hashes: Mapping[Any, int], retired: Iterable[int] = ()) -> Labels:
        """Return these classes and more, given with their hashes."""
        renamed = {label: number for label, number in hashes.items() if number != _hash(label)}
        return Labels(
            [*self.known, *hashes], self.renamed | renamed, self.retired.union(retired).difference(hashes.values())
        )


def check(labels: Sequence[Any]) -> None:
    """Raise an error unless the labels are of one kind, and stay different from each other in a NumPy array."""
    kinds = {_kind(label) for label in labels}
    if len(kinds) > 1:
        raise InputError(
            f"Labels of the kinds {' and '.join(sorted(kinds))} cannot be mixed; use one kind for all classes, such "
            "as text."
        )
    for label in set(labels) if kinds == {"text"} else ():
        if len(label) > LONGEST:
            raise InputError(
                f"The label {label[:40]!r}… has {len(label):,} characters; use a name of at most {LONGEST:,}."
            )
        if label.endswith("\0"):
            raise InputError(f"The label {label!r} ends in a NUL character; remove the character from the labels.")
        if NOT_TEXT.search(label):
            raise InputError(
                f"The label {label!r} is not valid text, and no file could hold it; write it in another way."
            )
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
