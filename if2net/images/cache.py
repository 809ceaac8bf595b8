"""The feature cache: a folder for every backbone, in it files of rows that are found by the content of the image.

Rows are only ever added, in files that appear whole under their final names, so readers need no lock.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import numpy as np
from filelock import FileLock

from if2net.files import cache_folder, make_folder

DIGEST = np.dtype("V32")


class FeatureCache:
    """Features of one extractor, by the digest of the image's file.

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

    def lock(self) -> FileLock:
        """Held while features are computed, so that a second process waits for them instead of computing them too."""
        return FileLock(make_folder(self.folder) / "lock")

    def known(self, digests: np.ndarray) -> np.ndarray:
        """Which of them are here, with what other processes have added meanwhile."""
        self._refresh()
        return np.array([digest.tobytes() in self._places for digest in digests], dtype=bool)

    def add(self, digests: np.ndarray, rows: np.ndarray) -> None:
        make_folder(self.folder)
        name = uuid.uuid4().hex
        _save(self.folder / f"{name}.rows.npy", rows)
        _save(self.folder / f"{name}.keys.npy", digests)  # last: rows without keys do not count

    def rows(self, digests: np.ndarray) -> np.ndarray:
        """Their features. All of them must be known."""
        places = np.array([self._places[digest.tobytes()] for digest in digests]).reshape(-1, 2)
        width = self._rows[0].shape[1] if self._rows else 0
        found = np.empty((len(digests), width), np.float32)
        for file in np.unique(places[:, 0]):
            mine = places[:, 0] == file
            found[mine] = self._rows[file][places[mine, 1]]
        return found

    def _refresh(self) -> None:
        for path in sorted(self.folder.glob("*.keys.npy")):
            if path.name in self._read:
                continue
            self._read.add(path.name)
            try:
                keys = np.load(path)
                rows = np.load(path.with_name(path.name.replace(".keys.", ".rows.")), mmap_mode="r")
            except (OSError, ValueError, EOFError):
                continue  # a damaged file: what it held is computed again
            self._rows.append(rows)
            for row, key in enumerate(keys[: len(rows)]):
                self._places[key.tobytes()] = (len(self._rows) - 1, row)


def _save(path: Path, array: np.ndarray) -> None:
    temporary = path.with_name(f".{path.name}")
    with open(temporary, "wb") as file:
        np.save(file, array)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
