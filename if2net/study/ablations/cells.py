"""What all ablations share: cells that are each run once a seed, and kept as they are finished."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch

from if2net.errors import ConfigurationError
from if2net.study.bench.results import environment, write_json
from if2net.study.bench.stream import Plan
from if2net.study.bench.stream import Show as ShowStep
from if2net.study.bench.workers import Job, results_of
from if2net.study.data import Dataset, Scenario, Task, parse_scenario

Entry = dict[str, Any]  # what was measured: the protocol where there is one, and numbers
Results = dict[str, Any]
Progress = Callable[[int, int, str], None]  # how many cells are done, of how many, and which was the last


@dataclass(frozen=True)
class Bench:
    """Where a cell is measured."""

    scenario: Scenario
    data: Dataset
    device: torch.device

    @property
    def inputs(self) -> int:
        return self.data.train_X.shape[1]

    def stream(self, seed: int) -> list[Task]:
        return self.scenario.stream(self.data, seed)[1]


Run = Callable[[str, int, Bench], list[Entry]]


@dataclass(frozen=True)
class Ablation:
    """One table or figure: what is varied, how a cell of it is measured, and how the results are shown."""

    name: str
    summary: str
    scenario: str
    cells: tuple[str, ...]
    run: Run  # of one cell and one seed
    table: Callable[[Results], str]
    figure: Callable[[Results], str] | None = None  # as the text of an SVG file
    runs: int = 3


def carry_out(
    ablation: Ablation,
    folder: Path,
    *,
    seeds: Sequence[int],
    data: Path | None = None,
    device: str = "cpu",
    jobs: int = 1,
    show: Progress | None = None,
) -> Results:
    """Run the cells that the folder does not hold yet; what is finished is saved at once, so a killed one goes on."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    results = _begun(ablation, path, device)
    plan = Plan(parse_scenario(ablation.scenario), {}, tuple(seeds), device=device)
    done = {(run["cell"], run["seed"]) for run in results["runs"]}
    wanted = [Job(plan, None, cell, seed) for seed in seeds for cell in ablation.cells if (cell, seed) not in done]
    total = len(ablation.cells) * len(seeds)
    left = len(wanted)
    for place, entries in results_of(partial(_measure, ablation.run), wanted, data, jobs):
        job, left = wanted[place], left - 1
        results["runs"] += [{"cell": job.method, "seed": job.seed, **entry} for entry in entries]
        results["runs"].sort(key=lambda run: (ablation.cells.index(run["cell"]), run["seed"]))  # stable
        results["summary"] = summary(results["runs"])
        write_json(path, results)
        if show is not None:
            show(total - left, total, f"{job.method}, seed {job.seed}")
    return results


def summary(runs: Sequence[Entry]) -> list[Entry]:
    """Mean and standard deviation over the seeds of every number, for each cell and protocol."""
    found = []
    for cell, protocol in dict.fromkeys((run["cell"], run.get("protocol", "")) for run in runs):
        own = [run for run in runs if (run["cell"], run.get("protocol", "")) == (cell, protocol)]
        entry: Entry = {"cell": cell, "protocol": protocol, "runs": len(own)}
        for key, value in own[0].items():
            if isinstance(value, float):
                values = [run[key] for run in own]
                entry[key] = {"mean": fmean(values), "std": stdev(values) if len(values) > 1 else 0.0}
        found.append(entry)
    return found


def _measure(
    run: Run, plan: Plan, data: Dataset, cell: str, seed: int, _out: Path | None, _show: ShowStep | None
) -> list[Entry]:
    return run(cell, seed, Bench(plan.scenario, data, torch.device(plan.device)))


def _begun(ablation: Ablation, path: Path, device: str) -> Results:
    """The results that the file holds already, which must be of the same ablation."""
    fresh: Results = {
        "ablation": ablation.name,
        "scenario": ablation.scenario,
        "environment": environment(device),
        "runs": [],
        "summary": [],
    }
    if not path.exists():
        return fresh
    try:
        old = json.loads(path.read_text())
        same = all(old[key] == fresh[key] for key in ("ablation", "scenario"))
        known = all(run["cell"] in ablation.cells for run in old["runs"])
    except (ValueError, KeyError, TypeError):
        same = known = False
    if not (same and known):
        raise ConfigurationError(
            f"{path} does not hold results of {ablation.name} as it is now; choose another folder with --out."
        )
    return old
