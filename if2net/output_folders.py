"""Folders that if2net writes to: the cache, results, and folders that are filled whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from if2net.errors import NO_SPACE, OutputError, explaining_output
from if2net.locks import locked
from if2net.temporary_files import TEMPORARY, temporary_path


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
        temporary = temporary_path(target, "folder")
        try:
            shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
            with explaining_output(target, NO_SPACE):
                fill(temporary)
            temporary.replace(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return target
