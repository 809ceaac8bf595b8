"""Files that appear whole or not at all, and the cache folder. Every file that if2net writes goes through here."""

from __future__ import annotations

import os
import re
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from if2net.errors import OutputError

# The mode of a new file, before the umask; a file that exists keeps its own.
NEW_FILE_MODE = 0o666
# A temporary name says which process writes it, so that the next writer can remove what a killed one has left.
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<host>[^.]*)-(?P<process>\d+)-[0-9a-f]{32}\.if2net-tmp")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file, which becomes `path` when the block ends without an error.

    A crash at any moment leaves the old file or the new one. A link stays a link, and the file behind it is
    replaced; the mode and the owner of the old file are kept.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise OutputError(f"{path} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise OutputError(f"The folder {target.parent} does not exist; create it, then write {target.name}.")
    remove_abandoned(target.parent)
    temporary = _temporary(target)
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, NEW_FILE_MODE))
        mode = temporary.stat().st_mode
        yield temporary
        _keep_owner_and_mode(target, temporary, mode)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
        _flush_folder(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def cache_folder() -> Path:
    """The folder for what can be computed or downloaded again: IF2NET_CACHE, or if2net in the user's cache folder."""
    if chosen := os.environ.get("IF2NET_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "if2net"


def make_folder(folder: Path, advice: str = "set IF2NET_CACHE to a folder that can be written to") -> Path:
    """Create a folder where it does not exist, and return it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {folder} cannot be created ({error.strerror}); {advice}.") from error
    return folder


def fill_folder_once(target: Path, fill: Callable[[Path], None]) -> Path:
    """Return the folder `target`; where it does not exist, `fill` creates it, whole or not at all."""
    if not target.is_dir():
        remove_abandoned(make_folder(target.parent))
        temporary = _temporary(target)
        try:
            fill(temporary)
            temporary.replace(target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return target


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files and folders whose process on this machine no longer runs."""
    for path in folder.glob(".*.if2net-tmp"):
        match = _TEMPORARY.fullmatch(path.name)
        if match and match["host"] == _host() and not _runs(int(match["process"])):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{_host()}-{os.getpid()}-{uuid.uuid4().hex}.if2net-tmp")


def _host() -> str:
    return socket.gethostname().partition(".")[0]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it runs, and belongs to somebody else
        return True
    return True


def _keep_owner_and_mode(target: Path, temporary: Path, new_mode: int) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        temporary.chmod(new_mode & 0o7777)
        return
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only the superuser can give a file away
            os.chown(temporary, old.st_uid, old.st_gid)
    temporary.chmod(old.st_mode & 0o7777)


def _flush_folder(folder: Path) -> None:
    """Make the new name survive a power cut."""
    with suppress(OSError):  # not every file system can flush a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
