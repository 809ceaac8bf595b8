"""The memory of a device, so that work that cannot fit is refused before it starts."""

from __future__ import annotations

import os
from pathlib import Path

import torch

# The limit of a container, in bytes or "max".
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def total(device: torch.device) -> float:
    """Return the bytes of memory of a device; infinity where the system does not report it."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return float("inf")
    try:
        return min(installed, int(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):
        return installed
