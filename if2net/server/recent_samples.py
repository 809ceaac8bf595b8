"""Samples that were predicted recently, so that they can be learned by their ids."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from if2net.server.refusal import Refusal


class RecentSamples:
    """The latest samples by id, in memory only.

    >>> recent = RecentSamples(seconds=60, most=1000)
    >>> ids = recent.add(np.array([[1.0, 2.0]]))
    >>> recent.rows(ids)
    array([[1., 2.]])
    """

    def __init__(self, seconds: float, most: int) -> None:
        self.seconds, self.most = seconds, most
        self._rows: OrderedDict[str, tuple[float, np.ndarray]] = OrderedDict()

    def add(self, rows: np.ndarray) -> list[str]:
        """Remember samples, and return an id for each."""
        now = time.monotonic()
        ids = [secrets.token_urlsafe(9) for _ in rows]
        if self.seconds > 0:
            for name, row in zip(ids, rows, strict=True):
                self._rows[name] = now, row
        self._drop_old()
        return ids

    def _drop_old(self) -> None:
        """Drop samples that are too old, and the oldest ones if there are too many."""
        oldest = time.monotonic() - self.seconds
        while self._rows and (len(self._rows) > self.most or next(iter(self._rows.values()))[0] < oldest):
            self._rows.popitem(last=False)

    def rows(self, ids: Sequence[str]) -> np.ndarray:
        """Return the samples with these ids."""
        self._drop_old()
        missing = [name for name in ids if name not in self._rows]
        if missing:
            raise Refusal(
                404,
                f"No sample with the id {missing[0][:40]!r} is remembered; send the sample itself, with its label.",
            )
        return np.stack([self._rows[name][1] for name in ids])
