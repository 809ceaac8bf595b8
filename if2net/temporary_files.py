"""Temporary files: hidden, beside the files that they are for, and held by the processes that use them.

A process holds a lock of the operating system on its temporary files. The lock ends with the process, so that others
can tell which files are abandoned, also from other containers and machines.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

# The end of all temporary names.
TEMPORARY = ".if2net-tmp"
# The mode of a new file, before the umask.
NEW_FILE_MODE = 0o666


def temporary_path(target: Path, purpose: str) -> Path:
    """Return the path of a temporary file beside the target."""
    return hidden_path(target, f"-{purpose}{TEMPORARY}")


def hidden_path(target: Path, end: str) -> Path:
    """Return the path of a hidden file beside the target; its name has this end."""
    # Part of the name is enough for people, and the whole of a long one would exceed the limit of the file system.
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    return target.with_name(f".{target.name[:40]}.{digest}{end}")


if sys.platform == "win32":

    def hold(path: Path, mode: int) -> IO[bytes] | None:
        """Create a file and hold it until it is closed or the process dies; None if another process holds it."""
        try:
            path.unlink(missing_ok=True)  # fails while a process has the file open
            return _open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        except (FileExistsError, PermissionError):
            if not path.exists():
                raise
            return None

else:

    def hold(path: Path, mode: int) -> IO[bytes] | None:
        """Create a file and hold it until it is closed or the process dies; None if another process holds it."""
        while True:
            try:
                file = _open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode)
            except PermissionError as error:  # the file of another user; to lock it, the right to read is enough
                try:
                    file = _open(path, os.O_RDONLY | os.O_NOFOLLOW)
                except FileNotFoundError:
                    raise error from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                return None
            except OSError:  # this file system has no locks
                return file
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    return file
            file.close()  # its last holder has just removed it


def _open(path: Path, flags: int, mode: int = NEW_FILE_MODE) -> IO[bytes]:
    return os.fdopen(os.open(path, flags, mode), "r+b", buffering=0)


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that were killed, except locks, which the next holder removes."""
    for path in folder.glob(f".*{TEMPORARY}"):
        if path.name.endswith(f"lock{TEMPORARY}"):
            continue
        with suppress(OSError), open(path, "r+b") as file:  # not ours, a folder, or still held
            if sys.platform == "win32":
                file.close()
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
