"""Files that appear whole or not at all, and the cache folder. All files that if2net writes go through here."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import shutil
import socket
import stat
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from if2net.errors import InUseError, OutputError
from if2net.interrupts import uninterrupted

if sys.platform != "win32":
    import fcntl

# The mode of a new file, before the umask.
NEW_FILE_MODE = 0o666
# The end of all temporary names. A process holds a lock of the operating system on its temporary files. The lock ends
# with the process, so that others can tell which files are abandoned, also from other containers and machines.
TEMPORARY = ".if2net-tmp"
# The end of the name of an old file that is kept beside the new one.
KEPT = ".if2net-undo"
_POLL_SECONDS = 0.1
_NO_SPACE = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


@contextmanager
def replacing(path: str | os.PathLike[str], keep_old: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file, which becomes `path` when the block ends without an error.

    A crash at any moment leaves the old file or the new one. If `path` is a symbolic link, it stays one, and the file
    behind it is replaced. Other hard links keep the old content. The new file gets the mode of the old one, and its
    owner where this is allowed.

    Parameters
    ----------
    keep_old : bool
        Whether the old file stays beside the new one for `take_back`, until the file is replaced again. It is another
        link to the same file, so nothing is copied; a file system without hard links keeps nothing.

    Raises
    ------
    OutputError
        If the file cannot be written: its folder is missing or read-only, it is not a regular file, it is protected
        against writing, or the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    target, old = _replaceable(path)
    _remove_abandoned_once(target.parent)
    temporary = _temporary(target, uuid.uuid4().hex)
    held = None
    try:
        # The content of a private file must stay private while it is written.
        while held is None:  # a process that removes abandoned files may have it for a moment
            with _explaining(path), uninterrupted():
                held = _hold(temporary, 0o600 if old else NEW_FILE_MODE)
        with held:
            mode = temporary.stat().st_mode
            with _explaining(path, _NO_SPACE):
                yield temporary
            with _explaining(path):
                with open(temporary, "r+b") as file:  # Windows flushes only files that are open for writing
                    _set_owner_and_mode(temporary, old, mode)
                    os.fsync(file.fileno())
                if sys.platform == "win32":
                    held.close()  # an open file cannot be renamed there
                kept = _beside(target, KEPT)
                kept.unlink(missing_ok=True)
                if keep_old and old:
                    with suppress(OSError):
                        os.link(target, kept)
                temporary.replace(target)
    except BaseException:
        with uninterrupted():
            temporary.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def kept_file(path: str | os.PathLike[str]) -> Path | None:
    """Return the file that `replacing` has kept beside this one; None if there is none."""
    target = Path(os.path.realpath(path))
    kept = _beside(target, KEPT)
    # A process that was killed before it replaced the file leaves a link to it.
    return kept if kept.is_file() and target.is_file() and not kept.samefile(target) else None


def take_back(path: str | os.PathLike[str], kept: Path) -> None:
    """Replace this file by the kept one, in one step."""
    target, now = _replaceable(path)
    with _explaining(path):
        _set_owner_and_mode(kept, now, NEW_FILE_MODE)
        kept.replace(target)
    _flush_folder(target.parent)


@contextmanager
def locked(
    path: str | os.PathLike[str], wait: bool = True, report: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Let one process at a time change a file or a folder, from reading it to writing it.

    The lock is a small file beside the file, which need not exist yet, or inside the folder, and is removed at the
    end. If a process dies, its lock is released at once. Symbolic links to a file share its lock; hard links do
    not. A thread that asks for a lock that it holds already would wait forever.

    Parameters
    ----------
    wait : bool
        Whether to wait for a process that holds the lock.
    report : callable, optional
        Receives a sentence that names that process, before the wait. Default: a warning of the logger `if2net`.

    Raises
    ------
    OutputError
        If the lock cannot be created.
    InUseError
        If another process holds the lock and `wait` is false.
    """
    target = Path(os.path.realpath(path))
    lock = target / f".lock{TEMPORARY}" if target.is_dir() else _temporary(target, "lock")
    if not lock.parent.is_dir():
        raise OutputError(f"The folder {lock.parent} does not exist; create it first.")
    held, waiting = None, False
    try:
        while True:
            with _explaining(path), uninterrupted():
                held = _hold(lock, NEW_FILE_MODE)
            if held is not None:
                break
            if not wait:
                raise InUseError(f"{path} is in use by {_holder(lock)}; try again when that process has ended.")
            if not waiting:
                (report or logging.getLogger("if2net").warning)(f"Waiting for {_holder(lock)}, which uses {path}.")
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


@contextmanager
def locked_folder(folder: Path, advice: str, wait: bool = True) -> Iterator[Path]:
    """Create a folder if it does not exist, and hold its lock. A folder that is empty at the end is removed."""
    make_folder(folder, advice)
    try:
        with locked(folder, wait):
            yield folder
    finally:
        with suppress(OSError):  # it holds files
            folder.rmdir()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error, before any work, if `replacing` could not write this file."""
    target, _ = _replaceable(path)
    if not os.access(target.parent, os.W_OK):
        raise OutputError(
            f"The folder {target.parent} cannot be written to; change its permissions, or choose another."
        )


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, whole or not at all. Question marks replace characters that are not valid text."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file. Opening a pipe could take forever, so it is an OSError."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.read_bytes()


def cache_folder() -> Path:
    """Return the folder for files that can be computed or downloaded again.

    It is the environment variable IF2NET_CACHE, or the folder if2net in the user's cache folder.
    """
    if chosen := os.environ.get("IF2NET_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "if2net"


def make_folder(folder: Path, advice: str = "set IF2NET_CACHE to a folder that can be written to") -> Path:
    """Create a folder if it does not exist, and return it."""
    if folder.is_file():
        raise OutputError(f"{folder} is a file, and a folder is needed; {advice}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {folder} cannot be created ({error.strerror}); {advice}.") from error
    return folder


def is_empty(folder: Path) -> bool:
    """Return whether a folder is missing or holds nothing but temporary files."""
    return not folder.exists() or (
        folder.is_dir() and all(path.name.endswith(TEMPORARY) for path in folder.iterdir())
    )


def fill_folder_once(target: Path, fill: Callable[[Path], None]) -> Path:
    """Return the folder `target`; if it does not exist, `fill` creates it, whole or not at all."""
    if target.is_dir():
        return target
    make_folder(target.parent)
    with locked(target):
        if target.is_dir():  # filled by the process that held the lock before
            return target
        temporary = _temporary(target, "folder")
        try:
            shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
            with _explaining(target, _NO_SPACE):
                fill(temporary)
            temporary.replace(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return target


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that were killed, except locks, which the next holder removes."""
    for path in folder.glob(f".*{TEMPORARY}"):
        if path.name.endswith(f"lock{TEMPORARY}"):
            continue
        with (
            suppress(OSError),
            open(path, "r+b") as file,
        ):  # not ours, a folder, or still held
            if sys.platform == "win32":
                file.close()
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


@cache
def _remove_abandoned_once(folder: Path) -> None:
    """Clean a folder before the first file is written to it. Later files need not list it again."""
    remove_abandoned(folder)


def _replaceable(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """Return the file behind the path, and its status; None if there is no such file yet."""
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):  # a link there may lead to the file of the output
        raise OutputError(f"{path} is a device, which cannot be replaced; give the name of a file.")
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # still a link, so it cannot be followed to an end
        raise OutputError(f"{path} is a link that leads back to itself; give the name of a file.")
    try:
        old = target.stat()
    except OSError:
        if not target.parent.is_dir():
            raise OutputError(f"The folder {target.parent} does not exist; create it first.") from None
        return target, None
    if stat.S_ISDIR(old.st_mode):
        raise OutputError(f"{path} is a folder; give the name of a file in it.")
    if not stat.S_ISREG(old.st_mode):  # to replace a device such as /dev/null would destroy it
        raise OutputError(f"{path} is not a regular file; give the name of a file.")
    if not os.access(target, os.W_OK):
        raise OutputError(f"{path} is protected against writing; change its permissions, or choose another name.")
    return target, old


@contextmanager
def _explaining(path: str | os.PathLike[str], numbers: tuple[int, ...] | None = None) -> Iterator[None]:
    """Turn an error of the operating system into a sentence; with `numbers`, only errors with these numbers."""
    try:
        yield
    except OSError as error:
        if numbers is not None and error.errno not in numbers:
            raise
        advice = "free some space" if error.errno in _NO_SPACE else "check the permissions of its folder"
        raise OutputError(
            f"{path} cannot be written ({error.strerror}); {advice}, or choose another place."
        ) from error


def _temporary(target: Path, purpose: str) -> Path:
    return _beside(target, f"-{purpose}{TEMPORARY}")


def _beside(target: Path, end: str) -> Path:
    # Part of the name is enough for people, and the whole of a long one would exceed the limit of the file system.
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    return target.with_name(f".{target.name[:40]}.{digest}{end}")


if sys.platform == "win32":

    def _hold(path: Path, mode: int) -> IO[bytes] | None:
        try:
            path.unlink(missing_ok=True)  # fails while a process has the file open
            return _open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        except (FileExistsError, PermissionError):
            if not path.exists():
                raise
            return None

else:

    def _hold(path: Path, mode: int) -> IO[bytes] | None:
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


def _holder(lock: Path) -> str:
    try:
        return lock.read_text(encoding="utf-8") or "another process"
    except (OSError, ValueError):
        return "another process"


def _set_owner_and_mode(temporary: Path, old: os.stat_result | None, new_mode: int) -> None:
    mode = stat.S_IMODE(old.st_mode if old else new_mode)
    if old is not None and hasattr(os, "chown"):
        try:
            os.chown(temporary, old.st_uid, old.st_gid)
        except OSError:  # only the superuser may give a file away
            try:
                os.chown(temporary, -1, old.st_gid)
            except OSError:
                mode &= ~stat.S_IRWXG  # the permissions of the old group are not meant for another one
    with suppress(OSError):  # some file systems have no modes
        temporary.chmod(mode)


def _flush_folder(folder: Path) -> None:
    """Make the new name survive a power cut."""
    with suppress(OSError):  # Windows and some file systems cannot flush a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
