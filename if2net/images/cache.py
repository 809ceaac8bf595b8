"""The feature cache: one folder per extractor, with files of features that are found by the content of the image.

Files are only added, and each appears whole under its final name, so readers need no lock.
"""

from __future__ import annotations

import os
import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from if2net.extras import require
from if2net.files import cache_folder, make_folder, replacing

DIGEST = np.dtype("V32")


class FeatureCache:
    """The features of one extractor, by the SHA-256 digest of the image file.

    >>> import tempfile
    >>> cache = FeatureCache("some backbone", tempfile.mkdtemp())
    >>> digests = np.array([b"a" * 32, b"b" * 32], dtype=DIGEST)
    >>> cache.add(digests, np.ones((2, 3), np.float32))
    >>> cache.known(np.array([b"b" * 32, b"c" * 32], dtype=DIGEST))
    array([ True, False])
    """

    def __init__(self, identity: str, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder or cache_folder()) / "features" / identity
        self._places: dict[bytes, tuple[int, int]] = {}  # digest → (file, row)
        self._rows: list[np.ndarray] = []
        self._read: set[str] = set()

    def lock(self) -> AbstractContextManager[Any]:
        """Return a lock to hold while features are computed, so that a second process waits and then reads them."""
        filelock = require("filelock", "images", "The feature cache needs the package filelock")
        lock: AbstractContextManager[Any] = filelock.FileLock(make_folder(self.folder) / "lock")
        return lock

    def known(self, digests: np.ndarray) -> np.ndarray:
        """Return a mask over the digests that the cache holds, including those that other processes have added."""
        self._refresh()
        return np.array([digest.tobytes() in self._places for digest in digests], dtype=bool)

    def add(self, digests: np.ndarray, rows: np.ndarray) -> None:
        """Store features, one row per digest."""
        name = make_folder(self.folder) / uuid.uuid4().hex
        _save(name.with_suffix(".rows.npy"), rows)
        _save(name.with_suffix(".keys.npy"), digests)  # last, because rows without keys are ignored

    def rows(self, digests: np.ndarray) -> np.ndarray:
        """Return the features of digests, all of which must be known."""
        places = np.array([self._places[digest.tobytes()] for digest in digests]).reshape(-1, 2)
        width = self._rows[0].shape[1] if self._rows else 0
        features = np.empty((len(digests), width), np.float32)
        for file in np.unique(places[:, 0]):
            chosen = places[:, 0] == file
            features[chosen] = self._rows[file][places[chosen, 1]]
        return features

    def _refresh(self) -> None:
        for path in sorted(self.folder.glob("*.keys.npy")):
            if path.name in self._read:
                continue
            self._read.add(path.name)
            try:
                keys = np.load(path)
                rows = np.load(path.with_name(path.name.replace(".keys.", ".rows.")), mmap_mode="r")
            except (OSError, ValueError, EOFError):
                continue  # the file is damaged, and its features are computed again
            self._rows.append(rows)
            for row, key in enumerate(keys[: len(rows)]):
                self._places[key.tobytes()] = (len(self._rows) - 1, row)


def _save(path: Path, array: np.ndarray) -> None:
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.save(file, array)
