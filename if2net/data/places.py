"""Where things are kept that can be had again: features that were computed, datasets that were downloaded."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """IF2NET_CACHE, or if2net's place among the user's caches."""
    if chosen := os.environ.get("IF2NET_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "if2net"
