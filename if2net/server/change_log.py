"""The log of changes: an SQLite database beside the model file.

A change is in the log, on the disk, before it is acknowledged. A start after a crash takes the model file, which is a
snapshot, and repeats the changes that came after it. The features of changes that two snapshots contain are
removed from the log. Keys and answers stay longer, so that a retry is recognised.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from if2net.errors import OutputError
from if2net.server.changes import RESTORE, Change

SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    position INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    operation TEXT NOT NULL,
    samples INTEGER NOT NULL,
    labels TEXT NOT NULL,
    undoes INTEGER,
    logged INTEGER NOT NULL,
    key TEXT UNIQUE,
    digest BLOB NOT NULL,
    answer TEXT NOT NULL,
    content TEXT,
    features BLOB,
    checksum BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS whole ON changes (position) WHERE content IS NOT NULL;
CREATE INDEX IF NOT EXISTS unlogged ON changes (position) WHERE logged = 0;
"""
FORMAT = 1
# Columns that the checksum of a change covers, besides its features.
CHECKED = ("position", "operation", "samples", "undoes", "logged", "key", "answer", "content")
# Labels of a change that are listed.
MOST_LABELS = 20

logger = logging.getLogger("if2net.server")


@dataclass(frozen=True)
class Entry:
    """A change with the request that asked for it, and its answer."""

    change: Change
    key: str | None
    digest: bytes
    answer: dict[str, Any]


@dataclass(frozen=True)
class Logged:
    """A change in the log, without its content, and whether the log still has that."""

    position: int
    time: float
    operation: str
    samples: int
    labels: list[Any]
    undoes: int | None
    is_whole: bool


class DamagedLogError(OutputError):
    """A log whose content is wrong."""


class ChangeLog:
    """The changes of one model. Threads may share it.

    Attributes
    ----------
    id : str
        A name that is also in the snapshots, so that the logs of two models are not confused.
    first : int
        The position before its first change.
    begins_empty : bool
        Whether the model was empty then; otherwise the changes mean nothing without its file.
    """

    def __init__(self, path: Path, first: int = 0, begins_empty: bool = True) -> None:
        self.path = path
        self._lock = threading.RLock()
        with _explaining(path):
            pages = _committed_pages(Path(f"{path}-wal"))
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            # Each commit reaches the disk before it returns, and deleted content is overwritten.
            for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                self._database.execute(f"PRAGMA {setting}")
            self._keep_lost(pages)
            with self._transaction():
                for statement in SCHEMA.split(";"):
                    self._database.execute(statement)
                if self._fact("id") is None:
                    self._set(format=FORMAT, id=uuid.uuid4().hex, first=first, begins_empty=begins_empty)
                    self._set(snapshot=first, previous=first)
            if self._fact("format") != FORMAT:
                raise OutputError(f"{path} is of another version of if2net; use that version, or move the file away.")
            self.id: str = self._fact("id")
            self.first: int = self._fact("first")
            self.begins_empty = bool(self._fact("begins_empty"))

    def _keep_lost(self, pages: int) -> None:
        """Report that changes are lost, and keep a copy, if SQLite skips commits behind a damaged page."""
        read = self._database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        if pages and read < pages:
            copy = Path(f"{self.path}-wal.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
            shutil.copy(f"{self.path}-wal", copy)  # with its permissions: it has features
            logger.error(
                "The end of the log %s is damaged: of %d pages, %d can be read. Changes may be lost. A copy is kept "
                "as %s. The last good state is served.",
                self.path,
                pages,
                read,
                copy,
            )

    def close(self) -> None:
        self._database.close()

    def check(self) -> None:
        """Raise an error if there is damage, such as in an index, that would only fail a later request."""
        self.latest(1)
        report = self._value("PRAGMA integrity_check(1)")
        if report != "ok":
            raise DamagedLogError(f"The log {self.path} is damaged ({report}).")

    # ------------------------------------------------------------------ changes

    def append(self, first: int, entries: Sequence[Entry]) -> None:
        """Add changes from this position on. They are on the disk when this returns, all of them or none."""
        now = time.time()
        with self._transaction():
            for position, entry in enumerate(entries, first):
                change = entry.change
                content, features = change.content()
                row = {
                    "position": position,
                    "time": now,
                    "operation": change.operation,
                    "samples": change.samples,
                    "labels": json.dumps(list(dict.fromkeys(change.labels))[:MOST_LABELS]),
                    "undoes": change.undoes,
                    "logged": int(change.logged),
                    "key": entry.key,
                    "digest": entry.digest,
                    "answer": json.dumps(entry.answer),
                    "content": content,
                    "features": features,
                }
                row["checksum"] = _checksum([row[name] for name in CHECKED], features)
                places = ", ".join(f":{name}" for name in row)
                self._database.execute(f"INSERT INTO changes ({', '.join(row)}) VALUES ({places})", row)

    def after(self, position: int) -> Iterator[tuple[int, Change]]:
        """Yield the changes after this position, in order. A damaged change raises an error."""
        columns = ", ".join((*CHECKED, "features", "checksum"))
        query = f"SELECT {columns} FROM changes WHERE position > ? ORDER BY position LIMIT 1"
        while rows := self._rows(query, position):
            *checked, features, checksum = rows[0]
            position, operation, samples, undoes, logged, _, _, content = checked
            if content is None or checksum != _checksum(checked, features):
                raise DamagedLogError(f"The change {position} in the log {self.path} is damaged.")
            yield position, Change.of_content(operation, samples, undoes, bool(logged), content, features)

    def restored(self, position: int) -> set[int]:
        """Return changes after this position that others restore, and those others: together they change nothing."""
        pairs = self._rows(
            "SELECT undoes, position FROM changes WHERE position > ? AND operation = ? AND undoes > ?",
            position,
            RESTORE,
            position,
        )
        return {place for pair in pairs for place in pair}

    def drop(self, position: int) -> None:
        """Remove the last change, which was never acknowledged."""
        with self._transaction():
            self._database.execute("DELETE FROM changes WHERE position = ?", (position,))

    def change(self, position: int) -> Change:
        """Return the change at a position, with its features."""
        place, change = next(self.after(position - 1))
        assert place == position
        return change

    def latest(self, limit: int) -> list[Logged]:
        """Return the latest changes, the last one first."""
        rows = self._rows(
            "SELECT position, time, operation, samples, labels, undoes, content IS NOT NULL AND "
            "(features IS NOT NULL OR samples = 0) FROM changes ORDER BY position DESC LIMIT ?",
            limit,
        )
        return [
            Logged(place, at, operation, samples, json.loads(labels), undoes, bool(whole))
            for place, at, operation, samples, labels, undoes, whole in rows
        ]

    def answer_to(self, key: str) -> tuple[bytes, dict[str, Any]] | None:
        """Return the digest of the request with this key, and its answer; None if there was none."""
        rows = self._rows("SELECT digest, answer FROM changes WHERE key = ?", key)
        return (rows[0][0], json.loads(rows[0][1])) if rows else None

    @property
    def last(self) -> int:
        """The position of the last change."""
        return max(int(self._value("SELECT max(position) FROM changes") or 0), self.snapshot)

    @property
    def oldest_features(self) -> float | None:
        """The time of the oldest change whose content is in the log."""
        return self._oldest("WHERE content IS NOT NULL")

    @property
    def oldest_key(self) -> float | None:
        """The time of the oldest change in the log."""
        return self._oldest()

    def _oldest(self, condition: str = "") -> float | None:
        oldest: float | None = self._value(f"SELECT time FROM changes {condition} ORDER BY position LIMIT 1")
        return oldest

    # ------------------------------------------------------------------ snapshots

    @property
    def snapshot(self) -> int:
        """The position of the last snapshot."""
        return int(self._fact("snapshot"))

    @property
    def previous(self) -> int:
        """The position of the snapshot before it. All later changes are in the log as a whole."""
        return int(self._fact("previous"))

    @property
    def needs_snapshots(self) -> bool:
        """Whether a change that the log cannot repeat is not in both snapshots, because one could not be written."""
        query = "SELECT position FROM changes WHERE logged = 0 AND position > ? LIMIT 1"
        return self._value(query, self.previous) is not None

    def fold(self, position: int, previous: int, keep_seconds: float, key_days: float) -> None:
        """Record two snapshots, and remove content that is no longer needed.

        Features and labels of changes that both snapshots contain go after `keep_seconds`, and the rest of such a
        change goes after `key_days`. Removed content is overwritten, also in SQLite's own log.

        A change from the future was made before the clock was set back. Its age counts from now on.
        """
        now = time.time()
        with self._transaction():
            self._set(snapshot=position, previous=previous)
            self._database.execute("UPDATE changes SET time = ? WHERE time > ?", (now, now))
            self._database.execute(
                "UPDATE changes SET content = NULL, features = NULL "
                "WHERE content IS NOT NULL AND position <= ? AND time <= ?",
                (previous, now - keep_seconds),
            )
            self._database.execute(
                "DELETE FROM changes WHERE position <= ? AND time <= ?", (previous, now - key_days * 86_400)
            )
        self._rows("PRAGMA wal_checkpoint(TRUNCATE)")

    # ------------------------------------------------------------------ SQLite

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, _explaining(self.path), self._database:  # which commits or rolls back
            self._database.execute("BEGIN IMMEDIATE")
            yield

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._lock, _explaining(self.path):
            return self._database.execute(query, values).fetchall()

    def _value(self, query: str, *values: Any) -> Any:
        """Return the first value of the first row; None if there is no row."""
        rows = self._rows(query, *values)
        return rows[0][0] if rows else None

    def _fact(self, name: str) -> Any:
        return self._value("SELECT value FROM facts WHERE name = ?", name)

    def _set(self, **facts: Any) -> None:
        self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())


def _checksum(values: Sequence[Any], features: bytes | None) -> bytes:
    """Return a digest of a change: SQLite does not notice a bit that flips."""
    digest = hashlib.sha256(json.dumps(values, default=repr).encode())
    digest.update(features or b"")
    return digest.digest()


def _committed_pages(path: Path) -> int:
    """Return the number of pages of SQLite's own log up to its last commit, by the headers of the pages alone.

    SQLite silently skips everything behind a page with a wrong checksum. Pages behind the last commit belong to the
    unfinished work of a killed process, and older pages have other salts.
    """
    if not path.is_file():
        return 0
    number = committed = 0
    with open(path, "rb") as file:
        head = file.read(32)
        size = int.from_bytes(head[8:12], "big")
        page = file.read(24)
        # When all pages are in the database, SQLite begins again with new salts in the head. A process that is killed
        # then leaves no page with these salts. Those in a damaged head mean nothing.
        salts = head[16:24] if _is_whole(head) else page[8:16]
        while len(page) == 24 and page[8:16] == salts:
            number += 1
            if any(page[4:8]):  # the size of the database after a commit
                committed = number
            file.seek(size, os.SEEK_CUR)
            page = file.read(24)
    return committed


def _is_whole(head: bytes) -> bool:
    """Return whether the head of SQLite's own log has the checksum at its end (section 4 of SQLite's file format)."""
    order: Literal["big", "little"] = "big" if head[3:4] == b"\x83" else "little"
    words = [int.from_bytes(head[place : place + 4], order) for place in range(0, 24, 4)]
    first = second = 0
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return head[24:] == first.to_bytes(4, "big") + second.to_bytes(4, "big")


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        # The other subclasses stand for a full disk, missing permissions and the like.
        if type(error) is sqlite3.DatabaseError or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
            raise DamagedLogError(f"The log {path} is damaged ({error}).") from error
        advice = "free some space" if "full" in str(error) else "check its folder, its permissions and the disk"
        raise OutputError(f"The log {path} cannot be read or written ({error}); {advice}.") from error
