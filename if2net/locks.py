"""Locks: one process at a time changes a file or a folder."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from if2net.errors import InUseError, OutputError, explaining_output
from if2net.interrupts import uninterrupted
from if2net.temporary_files import NEW_FILE_MODE, TEMPORARY, hold, temporary_path

_POLL_SECONDS = 0.1


@contextmanager
def locked(path: str | os.PathLike[str], wait: bool = True) -> Iterator[None]:
    """Let one process at a time change a file or a folder, from reading it to writing it.

    The lock is a small file beside the file, which need not exist yet, or inside the folder, and is removed at the
    end. If a process dies, its lock is released at once. Symbolic links to a file share its lock; hard links do
    not. A thread that asks for a lock that it holds already would wait forever.

    Before it waits for another process, the logger `if2net` names that process. If `wait` is false, a lock that
    another process holds is an InUseError.
    """
    target = Path(os.path.realpath(path))
    lock = target / f".lock{TEMPORARY}" if target.is_dir() else temporary_path(target, "lock")
    if not lock.parent.is_dir():
        raise OutputError(f"The folder {lock.parent} does not exist; create it first.")
    held, waiting = None, False
    try:
        while True:
            with explaining_output(path), uninterrupted():
                held = hold(lock, NEW_FILE_MODE)
            if held is not None:
                break
            if not wait:
                raise InUseError(f"{path} is in use by {_holder(lock)}; try again when that process has ended.")
            if not waiting:
                logging.getLogger("if2net").warning(
                    "Waiting for %s, which uses %s. Stop that process, or press Ctrl-C.", _holder(lock), path
                )
                waiting = True
            time.sleep(_POLL_SECONDS)
        with suppress(OSError):  # a full disk; the name is only for messages
            held.truncate()
            held.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
            lock.chmod(NEW_FILE_MODE)  # whatever the umask, since other users also wait for it
        yield
    finally:
        if held is not None:
            with uninterrupted(), held:
                if sys.platform == "win32":
                    held.close()  # an open file cannot be removed there
                with suppress(OSError):
                    lock.unlink()  # before it is free, so that a process that waits for it sees that it is gone


def _holder(lock: Path) -> str:
    try:
        return lock.read_text(encoding="utf-8") or "another process"
    except (OSError, ValueError):
        return "another process"
