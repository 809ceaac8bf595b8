"""Where the results of a run go."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from if2net.bench.results import read_results, write_json
from if2net.bench.stream import Plan


def prepare(plan: Plan, out: Path | None) -> Path:
    """The folder for a plan, with the resolved configuration in it.

    A folder that the user names is gone on with. Without one, a folder named after the scenario is used; what is in
    it makes room, unless it is the unfinished beginning of this very plan.
    """
    folder = out or Path("out") / plan.scenario.name.replace("/", "-")
    if out is None and not _is_beginning(plan, folder):
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", resolved(plan))
    return folder


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
