"""The model on the disk: snapshots, and the log of the changes since then.

The snapshot is the model file itself, and the snapshot before it is kept beside it. Each names the position of the
last change that it contains. Therefore neither a crash at any moment nor one damaged snapshot loses a change that was
acknowledged.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from if2net.errors import IF2NetError, ModelFileError, OutputError
from if2net.files import check_writable, kept_file
from if2net.learner import IF2Net
from if2net.server.change_log import ChangeLog, DamagedLogError, Entry
from if2net.server.settings import Settings

# Free space that must remain after a change, for the log itself.
SPARE_BYTES = 4 << 20

logger = logging.getLogger("if2net.server")


class Store:
    """The file of a model with its log.

    Parameters
    ----------
    path : Path
        The model file, which need not exist yet.
    new : callable
        Creates an empty model.
    """

    def __init__(self, path: Path, settings: Settings, new: Callable[[], IF2Net]) -> None:
        check_writable(path)
        self.path, self.settings, self.new = path, settings, new
        self.log_path = path.with_name(f"{path.name}-log")
        self.saved_at = time.monotonic()
        self.unsaved_samples = 0

    # ------------------------------------------------------------------ starting

    def open(self, check: Callable[[IF2Net], None]) -> IF2Net:
        """Return the model with all changes that were ever acknowledged.

        `check` raises an error if the model cannot be served. No file is written before.
        """
        log = None
        try:
            log = ChangeLog(self.log_path) if self.log_path.exists() else None
            return self._opened(log, check)
        except DamagedLogError as error:
            if log is not None:
                log.close()
            self._set_aside(self.log_path, error)
            return self._opened(None, check)
        except IF2NetError:
            if log is not None:
                log.close()
            raise

    def _opened(self, log: ChangeLog | None, check: Callable[[IF2Net], None]) -> IF2Net:
        net, is_damaged = self._snapshot(log)
        check(net)
        if log is not None and net.log is not None and net.log["id"] == log.id:
            self.log = log
            try:
                self._replay(net)
                log.check()
            except DamagedLogError as error:
                log.close()
                self._set_aside(self.log_path, error)
                self._begin_log(net)
            if is_damaged or self.log.needs_snapshots:
                self.save(net, twice=True)
            return net
        if log is not None:
            if log.last > log.snapshot:
                raise OutputError(
                    f"{self.log_path} holds changes of another model than {self.path}. Put back the model that it "
                    "belongs to, or move the log away."
                )
            log.close()
            for path in self._log_files(self.log_path):
                path.unlink(missing_ok=True)
        self._begin_log(net)
        return net

    def again(self) -> IF2Net:
        """Return the model from the disk, after a change that could not be written."""
        net, _ = self._snapshot(self.log)
        self._replay(net)
        return net

    def without(self, position: int) -> IF2Net | None:
        """Return the model without its last change, which has this position; None if that was too long ago."""
        for path in (self.path, kept_file(self.path)):
            net = IF2Net.load(path, self.settings.device) if path is not None and path.is_file() else None
            if net and net.log and net.log["id"] == self.log.id and net.log["position"] < position:
                break
        else:
            net = self._empty(self.log)
        if net is not None:
            self._replay(net, {position})
        return net

    def _snapshot(self, log: ChangeLog | None) -> tuple[IF2Net, bool]:
        """Return the model of the last snapshot that can be read, and whether a later one is damaged."""
        if not self.path.exists():
            empty = self.new() if log is None else self._empty(log)
            if empty is None:
                raise ModelFileError(
                    f"{self.path} is missing, and {self.log_path} belongs to it. Put the model back, or move the log "
                    "away to start again."
                )
            return empty, False
        try:
            return IF2Net.load(self.path, self.settings.device), False
        except ModelFileError as error:
            net = self._earlier(log) if os.access(self.path, os.R_OK) else None
            if net is None:
                raise
            self._set_aside(self.path, error)
            return net, True

    def _earlier(self, log: ChangeLog | None) -> IF2Net | None:
        """Return the model before the damaged snapshot, if the log has all changes since then."""
        kept = kept_file(self.path)
        if log is None:
            return None
        if kept is None:
            return self._empty(log)
        net = IF2Net.load(kept, self.settings.device)
        if net.log is None or net.log["id"] != log.id:  # it is older than the log
            if log.previous > log.first:
                return None
            net.log = {"id": log.id, "position": log.first}
        return net if net.log["position"] >= log.previous else None

    def _empty(self, log: ChangeLog) -> IF2Net | None:
        """Return the model before all changes; None unless it was empty and the log has all changes."""
        if not log.begins_empty or log.previous != log.first:
            return None
        net = self.new()
        net.log = {"id": log.id, "position": log.first}
        return net

    def _begin_log(self, net: IF2Net) -> None:
        """Begin a log for a model without one, or with that of another model. Version numbers continue."""
        position = net.log["position"] if net.log is not None else 0
        self.log = ChangeLog(self.log_path, position, begins_empty=net.encoder is None)
        net.log = {"id": self.log.id, "position": position}
        self.save(net)

    def _replay(self, net: IF2Net, skipped: frozenset[int] | set[int] = frozenset()) -> None:
        """Repeat the changes that came after a snapshot."""
        assert net.log is not None
        skipped = self.log.restored(net.log["position"]) | skipped
        for position, change in self.log.after(net.log["position"]):
            if position not in skipped:
                if not change.logged:  # it is in no snapshot, so it was never acknowledged
                    if position < self.log.last:
                        raise DamagedLogError(f"The change {position} of {self.path} is in no snapshot and no log.")
                    self.log.drop(position)
                    return
                try:
                    change.apply(net)
                except IF2NetError as error:
                    logger.error("The change %d of %s cannot be made again: %s", position, self.path, error)
            net.log = {"id": self.log.id, "position": position}

    def _set_aside(self, path: Path, error: IF2NetError) -> None:
        """Keep a damaged file under another name, and log it."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for part in self._log_files(path):
            if part.exists():
                part.replace(part.with_name(f"{part.name}.damaged-{stamp}"))
        logger.error("%s It is kept as %s.damaged-%s. The last good state is served.", error, path, stamp)

    def _log_files(self, path: Path) -> list[Path]:
        return [path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))]

    # ------------------------------------------------------------------ changing

    def check_space(self, size: int) -> None:
        """Raise an error, before a change is made, if the disk has no room for it and for the next snapshot."""
        snapshot = self.path.stat().st_size if self.path.exists() else 0
        if shutil.disk_usage(self.path.parent).free < size + snapshot + SPARE_BYTES:
            raise OutputError("The disk of the server is full, so nothing was changed; free some space there.")

    def append(self, net: IF2Net, entries: Sequence[Entry]) -> None:
        """Write changes that the model has made. They are on the disk when this returns, all of them or none."""
        assert net.log is not None
        first = net.log["position"] + 1
        self.log.append(first, entries)
        net.log = {"id": self.log.id, "position": first + len(entries) - 1}
        self.unsaved_samples += sum(entry.change.samples for entry in entries)
        if self.log.needs_snapshots:
            self.save(net, twice=True)
        elif not self.path.exists():  # the file has the settings and the backbone
            self.save(net)

    def save(self, net: IF2Net, *, twice: bool = False, keep_seconds: float | None = None) -> None:
        """Write a snapshot; if `twice`, also as the earlier snapshot that is kept beside it."""
        keep_seconds = self.settings.keep_seconds if keep_seconds is None else keep_seconds
        self.saved_at = time.monotonic()
        assert net.log is not None
        for _ in range(1 + twice):
            previous = self.log.snapshot if self.path.exists() else self.log.previous
            if net.encoder is not None:  # otherwise there is nothing to save yet
                net.save(self.path, keep_old=True)
                self.log.fold(net.log["position"], previous, keep_seconds, self.settings.key_days)
        self.unsaved_samples = 0

    def save_if_due(self, net: IF2Net) -> None:
        """Write a snapshot if the model has changed, or if the log has content that is too old or from the future."""
        assert net.log is not None
        waited = time.monotonic() - self.saved_at >= self.settings.snapshot_seconds
        if self.unsaved_samples < self.settings.snapshot_samples and not waited:
            return
        if net.log["position"] > self.log.snapshot or self.log.needs_snapshots:
            self.save(net)
            return
        self.saved_at = time.monotonic()
        limits = (
            (self.log.oldest_features, self.settings.keep_seconds),
            (self.log.oldest_key, self.settings.key_days * 86_400),
        )
        if any(oldest is not None and not 0 <= time.time() - oldest < seconds for oldest, seconds in limits):
            self.save(net)

    def close(self, net: IF2Net) -> None:
        """Write the last snapshots, and remove all features from the log."""
        assert net.log is not None
        if net.log["position"] > self.log.snapshot or self.log.oldest_features is not None:
            self.save(net, twice=True, keep_seconds=0.0)
        self.log.close()
