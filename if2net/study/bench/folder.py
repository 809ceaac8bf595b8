"""Where the results of a run go."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from if2net.study.bench.results import read_results, write_json
from if2net.study.bench.stream import Plan

LONGEST = 255  # bytes that file systems allow a name
ENDING = 120  # bytes of a longer name that are kept: the dataset's folder, the tasks and the backbone


def prepare(plan: Plan, out: Path | None) -> Path:
    """The folder for a plan.

    A folder that the user names is gone on with. Without one, a folder named after the scenario is used; what is in
    it makes room, unless it is the unfinished beginning of this very plan.
    """
    folder = out or Path("out") / folder_name(plan.scenario.name)
    if out is None and not _is_beginning(plan, folder):
        shutil.rmtree(folder, ignore_errors=True)
    return folder


def folder_name(scenario: str) -> str:
    """
    >>> folder_name("digits-10/5")
    'digits-10-5'
    >>> folder_name("folder:/home/" + 60 * "birds/" + "all-6/3")[-40:]
    'ds-birds-birds-birds-birds-birds-all-6-3'
    """
    name = scenario.replace("/", "-")
    whole = os.fsencode(name)
    if len(whole) <= LONGEST:
        return name
    return f"{hashlib.sha256(whole).hexdigest()[:8]}-{whole[-ENDING:].decode(errors='ignore').lstrip('-')}"


def record(plan: Plan, folder: Path) -> None:
    """Make the folder, with the resolved configuration of what is about to be run in it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", resolved(plan))


def _is_beginning(plan: Plan, folder: Path) -> bool:
    try:
        same = json.loads((folder / "config.json").read_text()) == resolved(plan)
        runs = read_results(folder / "results.json")["runs"] if (folder / "results.json").exists() else []
    except (OSError, ValueError):
        return False
    finished = {(run["method"], run["seed"]) for run in runs}
    return same and len(finished) < len(plan.settings) * len(plan.seeds)


def resolved(plan: Plan) -> dict[str, Any]:
    return {
        "scenario": plan.scenario.name,
        "protocol": plan.protocol,
        "seeds": list(plan.seeds),
        "device": plan.device,
        "methods": {name: asdict(settings) for name, settings in plan.settings.items()},
    }
