"""Files that appear whole or not at all. All files that if2net writes go through here."""

from __future__ import annotations

import errno
import os
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from if2net.errors import NO_SPACE, OutputError, explaining_output
from if2net.interrupts import uninterrupted
from if2net.temporary_files import NEW_FILE_MODE, hidden_path, hold, remove_abandoned, temporary_path

# The end of the name of an old file that is kept beside the new one.
KEPT = ".if2net-undo"
# A folder is cleaned before the first file is written to it. Later files need not list it again.
_remove_abandoned_once = cache(remove_abandoned)


@contextmanager
def replacing(path: str | os.PathLike[str], keep_old: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file, which becomes `path` when the block ends without an error.

    A crash at any moment leaves the old file or the new one. If `path` is a symbolic link, it stays one, and the file
    behind it is replaced. Other hard links keep the old content. The new file gets the mode of the old one, and its
    owner where this is allowed. A file that cannot be written is an OutputError.

    With `keep_old`, the old file stays beside the new one for `take_back`, until the file is replaced again. It is
    another link to the same file, so nothing is copied; a file system without hard links keeps nothing.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    target, old = _replaceable(path)
    _remove_abandoned_once(target.parent)
    temporary = temporary_path(target, uuid.uuid4().hex)
    held = None
    try:
        # The content of a private file must stay private while it is written.
        while held is None:  # a process that removes abandoned files may have it for a moment
            with explaining_output(path), uninterrupted():
                held = hold(temporary, 0o600 if old else NEW_FILE_MODE)
        with held:
            mode = temporary.stat().st_mode
            with explaining_output(path, NO_SPACE):
                yield temporary
            with explaining_output(path):
                with open(temporary, "r+b") as file:  # Windows flushes only files that are open for writing
                    _set_owner_and_mode(temporary, old, mode)
                    os.fsync(file.fileno())
                if sys.platform == "win32":
                    held.close()  # an open file cannot be renamed there
                kept = hidden_path(target, KEPT)
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
    kept = hidden_path(target, KEPT)
    # A process that was killed before it replaced the file leaves a link to it.
    return kept if kept.is_file() and target.is_file() and not kept.samefile(target) else None


def take_back(path: str | os.PathLike[str], kept: Path) -> None:
    """Replace this file by the kept one, in one step."""
    target, now = _replaceable(path)
    with explaining_output(path):
        _set_owner_and_mode(kept, now, NEW_FILE_MODE)
        kept.replace(target)
    _flush_folder(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error, before any work, if `replacing` could not write this file."""
    target, _ = _replaceable(path)
    if not os.access(target.parent, os.W_OK):
        raise OutputError(
            f"The folder {target.parent} cannot be written to; change its permissions, or choose another."
        )


def check_name(path: str | os.PathLike[str]) -> None:
    """Raise an error if no file can have this name."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        name = b"\0"
    if not name:
        raise OutputError("The name of the file is empty; give one.")
    if b"\0" in name:
        raise OutputError(
            f"{os.fspath(path)!r} has a character that no name of a file can have; choose another name."
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


def _replaceable(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """Return the file behind the path, and its status; None if there is no such file yet."""
    check_name(path)
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):  # a link there may lead to the file of the output
        raise OutputError(f"{path} is a device, which cannot be replaced; give the name of a file.")
    with explaining_output(path):
        target = Path(os.path.realpath(path))
        is_endless = target.is_symlink()  # still a link, so it cannot be followed to an end
    if is_endless:
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
