"""Files that appear whole or not at all, and the cache folder. All files that if2net writes go through here."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from if2net.errors import OutputError

# The mode of a new file, before the umask.
NEW_FILE_MODE = 0o666
# The name of a temporary file holds its process, so that a later process can remove it if this one is killed.
_TEMPORARY = re.compile(r"\..+\.(?P<host>[^.]*)-(?P<process>\d+)-[0-9a-f]{32}\.if2net-tmp")
_NO_SPACE = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file, which becomes `path` when the block ends without an error.

    A crash at any moment leaves the old file or the new one. If `path` is a symbolic link, it stays one, and the file
    behind it is replaced. The new file gets the mode of the old one, and its owner where this is allowed.

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
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):  # a link there may lead to the file of the output
        raise OutputError(f"{path} is a device, which cannot be replaced; give the name of a file.")
    target = Path(os.path.realpath(path))
    old = _replaceable(target, path)
    _remove_abandoned_once(target.parent)
    temporary = _temporary(target)
    with _explaining(path):
        # The content of a private file must stay private while it is written.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if old else NEW_FILE_MODE))
    try:
        mode = temporary.stat().st_mode
        with _explaining(path, _NO_SPACE):
            yield temporary
        with _explaining(path):
            with open(temporary, "r+b") as file:  # Windows flushes only files that are open for writing
                _set_owner_and_mode(temporary, old, mode)
                os.fsync(file.fileno())
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


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


def fill_folder_once(target: Path, fill: Callable[[Path], None]) -> Path:
    """Return the folder `target`; if it does not exist, `fill` creates it, whole or not at all."""
    if target.is_dir():
        return target
    _remove_abandoned_once(make_folder(target.parent))
    temporary = _temporary(target)
    try:
        with _explaining(target, _NO_SPACE):
            fill(temporary)
        try:
            temporary.replace(target)
        except OSError:
            if not target.is_dir():  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files and folders of processes that were killed on this machine."""
    for path in folder.glob(".*.if2net-tmp"):
        match = _TEMPORARY.fullmatch(path.name)
        if match and match["host"] == _host() and not _is_running(int(match["process"])):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()


@cache
def _remove_abandoned_once(folder: Path) -> None:
    """Clean a folder before the first file is written to it. Later files need not list it again."""
    remove_abandoned(folder)


def _replaceable(target: Path, path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the status of a file that may be replaced, or None if there is no such file."""
    try:
        old = target.stat()
    except OSError:
        if not target.parent.is_dir():
            raise OutputError(f"The folder {target.parent} does not exist; create it first.") from None
        return None
    if stat.S_ISDIR(old.st_mode):
        raise OutputError(f"{path} is a folder; give the name of a file in it.")
    if not stat.S_ISREG(old.st_mode):  # to replace a device such as /dev/null would destroy it
        raise OutputError(f"{path} is not a regular file; give the name of a file.")
    if not os.access(target, os.W_OK):
        raise OutputError(f"{path} is protected against writing; change its permissions, or choose another name.")
    return old


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


def _temporary(target: Path) -> Path:
    # Part of the name is enough, and the whole of a long one would exceed the limit of the file system.
    return target.with_name(f".{target.name[:40]}.{_host()}-{os.getpid()}-{uuid.uuid4().hex}.if2net-tmp")


def _host() -> str:
    return socket.gethostname().partition(".")[0]


def _is_running(process: int) -> bool:
    if os.name == "nt":  # os.kill would end the process there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it runs under another user
        return True
    return True


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
