"""The feature cache: one SQLite database per extractor, with the features by the content of the image."""

from __future__ import annotations

import logging
import os
import sqlite3
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from if2net.output_folders import cache_folder

# Seconds to wait for another process that is writing to the database.
TIMEOUT = 60.0
TABLE = "CREATE TABLE IF NOT EXISTS features (digest BLOB PRIMARY KEY, row BLOB, checksum INTEGER)"
_unusable: set[Path] = set()  # databases that the user has been warned about


class FeatureCache:
    """The features of one extractor, by the SHA-256 digest of the image file.

    Several processes may use one cache at once. A row whose checksum does not match counts as missing. If the
    database cannot be used, the logger `if2net` warns once, and new features stay in memory.

    >>> import tempfile
    >>> cache = FeatureCache("some backbone", tempfile.mkdtemp())
    >>> cache.add({b"digest of an image": np.ones(3, np.float32)})
    >>> dict(cache.rows([b"digest of an image", b"digest of another"]))
    {b'digest of an image': array([1., 1., 1.], dtype=float32)}
    """

    def __init__(self, identity: str, folder: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(folder or cache_folder()) / "features" / f"{identity}.sqlite"
        self.unsaved: dict[bytes, np.ndarray] = {}  # not in the database, so that they are lost with the process

    def rows(self, digests: Collection[bytes]) -> Iterator[tuple[bytes, np.ndarray]]:
        """Yield the features of each digest that the cache holds, including those that other processes have added."""
        yield from ((digest, self.unsaved[digest]) for digest in digests if digest in self.unsaved)
        with self._warning_if_unusable(), closing(self._connect()) as database:
            database.execute(TABLE)
            for digest in digests:
                entry = database.execute("SELECT row, checksum FROM features WHERE digest = ?", [digest]).fetchone()
                if entry and isinstance(entry[0], bytes) and entry[1] == _checksum(digest, entry[0]):
                    yield digest, np.frombuffer(entry[0], np.float32)

    def add(self, rows: Mapping[bytes, np.ndarray]) -> None:
        """Store the features of each digest: all of them or, if the process is killed meanwhile, none."""
        self.unsaved |= rows
        if not self.unsaved:
            return
        with self._warning_if_unusable(), closing(self._connect()) as database:
            database.execute(TABLE)
            for digest, row in self.unsaved.items():
                values = (digest, row.tobytes(), _checksum(digest, row.tobytes()))
                database.execute("INSERT OR REPLACE INTO features VALUES (?, ?, ?)", values)
            database.commit()
            self.unsaved.clear()

    def _connect(self) -> sqlite3.Connection:
        """Connect for one operation only, because a connection must not be used by other threads or after a fork."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return sqlite3.connect(self.path, TIMEOUT)

    @contextmanager
    def _warning_if_unusable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if self.path not in _unusable:
                _unusable.add(self.path)
                logging.getLogger("if2net").warning(
                    "The feature cache %s cannot be used (%s), so new features are not kept. Remove the file if it "
                    "is damaged, or set IF2NET_CACHE to a folder that can be written to.",
                    self.path,
                    getattr(error, "strerror", None) or error,
                )


def _checksum(digest: bytes, row: bytes) -> int:
    return zlib.crc32(row, zlib.crc32(digest))
