"""Where things are kept that can be had again: features that were computed, datasets that were downloaded."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from if2net.errors import ConfigurationError


def cache_folder() -> Path:
    """IF2NET_CACHE, or if2net's place among the user's caches."""
    if chosen := os.environ.get("IF2NET_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "if2net"


def made(folder: Path, advice: str = "let IF2NET_CACHE name a folder that can be written to") -> Path:
    """The folder, which is there from now on; where it cannot be, the error says what to do."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be made a folder ({error.strerror}); {advice}.") from error
    return folder


def written_once(target: Path, write: Callable[[Path], None]) -> Path:
    """The folder `target`. Where it is missing, `write` fills it, and it appears whole or not at all."""
    if not target.is_dir():
        temporary = made(target.parent) / f".{target.name}.{uuid.uuid4().hex}"
        try:
            write(temporary)
            temporary.replace(target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return target
