"""The versions and the machine behind a run."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import torch

from if2net.version import __version__

Environment = dict[str, str | int | None]  # None: not known
# What git compares: all files but results and documentation.
CODE = (".", ":!*.json", ":!*.jsonl", ":!*.md", ":!*.svg")


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
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else "cpu",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": _commit(Path(__file__).parents[3]),
    }


def processor() -> str:
    """Return the name of the processor: from a file on Linux, from `platform` on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "not known"


@cache
def _commit(root: Path) -> str | None:
    """Return the commit of a checkout, with -dirty after changes. Those of results and documentation do not count.

    The environment variable IF2NET_COMMIT comes first: a copy on another machine may lack the history. Without it and
    without a checkout, the commit is None. A process asks git once: a later commit does not change code that is
    imported already.
    """
    if named := os.environ.get("IF2NET_COMMIT"):
        return named
    if not (root / ".git").exists():
        return None
    git = ["git", "-C", str(root)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", *CODE], check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}-dirty" if changed else head
