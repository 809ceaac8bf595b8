"""The versions and the machine behind a result."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path

import numpy as np
import torch

from if2net.version import __version__

Environment = dict[str, str | int | None]  # None: not known


def environment(device: str) -> Environment:
    """Return the versions, the machine, the date, and the commit if if2net runs from a git checkout."""
    return {
        "if2net": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "device": device_name(device),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": _commit(),
    }


def processor() -> str:
    """Return the name of the processor: from a file on Linux, from `platform` on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "not known"


def device_name(device: str) -> str:
    """Return the name of the GPU, or cpu."""
    return torch.cuda.get_device_name() if device.startswith("cuda") else "cpu"


def _commit() -> str | None:
    """Return the commit of the checkout that this file belongs to, with -dirty after changes.

    Without a checkout it is the value of the environment variable IF2NET_COMMIT, or None.
    """
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return os.environ.get("IF2NET_COMMIT")
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
