"""The versions and the machine behind a run.

A results file holds each environment once, and each run the index of its own in that list.
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

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


def distinct(environments: Iterable[Environment]) -> list[Environment]:
    """Return each environment once, in the order of first use."""
    found: list[Environment] = []
    for own in environments:
        if own not in found:
            found.append(own)
    return found


def to_indices(runs: list[dict[str, Any]]) -> tuple[list[Environment], list[dict[str, Any]]]:
    """Return the distinct environments of some runs, and the runs with the index of theirs in that list.

    The index is left out if there is only one environment.

    >>> to_indices([{"seed": 0, "environment": {"device": "cpu"}}])
    ([{'device': 'cpu'}], [{'seed': 0}])
    >>> to_indices([{"seed": 0, "environment": {"device": "cpu"}}, {"seed": 1, "environment": {"device": "H200"}}])[1]
    [{'seed': 0, 'environment': 0}, {'seed': 1, 'environment': 1}]
    """
    known = distinct(run["environment"] for run in runs)
    if len(known) == 1:
        return known, [{key: value for key, value in run.items() if key != "environment"} for run in runs]
    return known, [{**run, "environment": known.index(run["environment"])} for run in runs]


def from_indices(content: Any) -> Any:
    """Return the content of a file, in which each run has its environment instead of its index.

    Other mistakes in the content are left to the checks that follow.
    """
    if not isinstance(content, dict) or not isinstance(runs := content.get("runs"), list):
        return content
    if not isinstance(known := content.get("environments"), list):
        raise ValueError("it has no list 'environments'")
    resolved = [_with_environment(number, run, known) for number, run in enumerate(runs)]
    return {**content, "runs": resolved}


def _with_environment(number: int, run: Any, known: list[Any]) -> Any:
    if not isinstance(run, dict):
        return run
    index = run.get("environment", 0 if len(known) == 1 else None)
    if type(index) is not int or not 0 <= index < len(known):
        raise ValueError(
            f"'runs.{number}.environment' should be the index of one of {len(known)} environments, counted from 0, "
            f"but is {'missing' if index is None else shortened(index)}"
        )
    return {**run, "environment": known[index]}


@cache
def _commit(root: Path) -> str | None:
    """Return the commit of a checkout, with -dirty after changes.

    Without a checkout it is the value of the environment variable IF2NET_COMMIT, or None. A process asks git once: a
    later commit does not change code that is imported already.
    """
    if not (root / ".git").exists():
        return os.environ.get("IF2NET_COMMIT")
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
