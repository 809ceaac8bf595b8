"""An ablation: its cells, each measured once per seed, and their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import BeforeValidator, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from if2net.errors import ConfigurationError
from if2net.files import read_bytes, write_text
from if2net.output_folders import make_folder
from if2net.progress import Show
from if2net.study.bench.display import spread
from if2net.study.bench.environment import Environment, environment
from if2net.study.bench.loading import Loader
from if2net.study.bench.metrics import deviation
from if2net.study.bench.results import CHECKED, write_json
from if2net.study.bench.shared_values import from_indices, to_indices
from if2net.study.bench.stream import Plan, ShowStep
from if2net.study.bench.workers import Job, results_of
from if2net.study.data import Dataset, Scenario, Task, parse_scenario
from if2net.study.report.charts import Chart, save

PIXELS = 1000  # the width of a PNG file
BESIDE = ("ACC %", "paper", "BWT", "paper", "FWT", "paper")


@dataclass(frozen=True)
class Entry:
    """The measurements of a cell under one protocol: numbers, which are averaged over the seeds, and lists."""

    protocol: str = ""
    numbers: dict[str, float] = field(default_factory=dict)
    lists: dict[str, list[Any]] = field(default_factory=dict)


@checked_dataclass(frozen=True, config=CHECKED)
class Measurement:
    """An entry with its cell, its seed and its environment."""

    cell: str
    seed: int
    protocol: str
    numbers: dict[str, float]
    environment: Environment
    lists: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over the seeds."""

    mean: float
    std: float


@dataclass(frozen=True)
class Summary:
    """The numbers of a cell under one protocol over the seeds."""

    cell: str
    protocol: str
    runs: int
    numbers: dict[str, Spread]

    def text(self, key: str, digits: int, factor: float = 1) -> str:
        """Mean ± standard deviation; empty where the number was not measured."""
        if key not in self.numbers:
            return ""
        value = self.numbers[key]
        return spread(factor * value.mean, factor * value.std, digits, self.runs)

    def beside(self, paper: dict[str, float]) -> list[str]:
        """The cells under BESIDE. The paper's figures have the digits that it prints."""
        cells = [self.text("acc", 2, 100), f"{paper['acc']:.2f} ± {paper['acc_std']:.2f}"]
        for key in ("bwt", "fwt"):
            cells += [self.text(key, 3), f"{paper[key]:.4f} ± {paper[f'{key}_std']:.4f}"]
        return cells


@checked_dataclass(frozen=True, config=CHECKED)
class Measurements:
    """The results of an ablation. results.json holds them, and the summary that follows from them."""

    ablation: str
    scenario: str
    runs: list[Measurement]

    @classmethod
    def read(cls, path: Path) -> Measurements:
        """Read and check a file."""
        try:
            results = _READER.validate_json(read_bytes(path))
            _ = results.summary  # needs the same numbers from every seed
        except (OSError, ValidationError, KeyError) as error:
            raise ConfigurationError(
                f"{path} holds no results of an ablation, or is damaged; choose another folder, or move it away."
            ) from error
        return results

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        lists, runs = to_indices([asdict(run) for run in self.runs], ["environment"])
        head = {"ablation": self.ablation, "scenario": self.scenario, **lists}
        write_json(path, {**head, "runs": runs, "summary": [asdict(entry) for entry in self.summary]})

    @cached_property
    def summary(self) -> list[Summary]:
        """Mean and standard deviation over the seeds of every number, for each cell and protocol."""
        groups: dict[tuple[str, str], list[Measurement]] = {}
        for run in self.runs:
            groups.setdefault((run.cell, run.protocol), []).append(run)
        return [Summary(*group, len(runs), _spreads(runs)) for group, runs in groups.items()]

    def of(self, cell: str, protocol: str = "") -> Summary:
        """The summary of a cell under a protocol."""
        return next(entry for entry in self.summary if (entry.cell, entry.protocol) == (cell, protocol))

    @property
    def seeds(self) -> str:
        """The number of seeds, in words."""
        count = len({run.seed for run in self.runs})
        return f"mean ± standard deviation over {count} seeds" if count > 1 else "one seed"


_READER = TypeAdapter(Annotated[Measurements, BeforeValidator(partial(from_indices, keys=["environment"]))])


@dataclass(frozen=True)
class Bench:
    """The scenario, the data and the device on which a cell is measured."""

    scenario: Scenario
    data: Dataset
    device: torch.device

    @property
    def inputs(self) -> int:
        """The number of features."""
        return self.data.train_X.shape[1]

    def stream(self, seed: int) -> list[Task]:
        """The tasks of a seed."""
        return self.scenario.stream(self.data, seed)[1]


def first_of_each_class(task: Task, count: int) -> np.ndarray:
    """The places of the first training samples of each class, `count` per class."""
    return np.concatenate([np.flatnonzero(task.train_y == label)[:count] for label in task.classes])


Measure = Callable[[str, int, Bench], list[Entry]]


@dataclass(frozen=True)
class Ablation:
    """One table or figure: the cells that differ, the measurement of a cell, and the presentation of the results."""

    name: str
    summary: str
    cells: tuple[str, ...]
    run: Measure  # of one cell and one seed
    table: Callable[[Measurements], str]
    figure: Callable[[Measurements], Chart] | None = None
    runs: int = 5
    scenario: str = "fashion-mnist-10/5"  # as in the paper


def carry_out(
    ablation: Ablation,
    folder: Path,
    loader: Loader,
    *,
    seeds: Sequence[int],
    device: str = "cpu",
    jobs: int = 1,
    show: Show | None = None,
) -> Measurements:
    """Measure the cells that the folder does not hold yet. Each is saved at once, so that a killed one continues."""
    path = make_folder(folder, "choose another folder") / "results.json"
    results = _begun(ablation, path)
    plan = Plan(parse_scenario(ablation.scenario), {}, tuple(seeds), device=device)
    finished = {(run.cell, run.seed) for run in results.runs}
    jobs_left = [
        Job(plan, None, cell, seed) for seed in seeds for cell in ablation.cells if (cell, seed) not in finished
    ]
    total = len(ablation.cells) * len(seeds)
    done = total - len(jobs_left)
    for place, runs in results_of(partial(_measure, ablation.run), jobs_left, loader, jobs):
        job, done = jobs_left[place], done + 1
        order = sorted([*results.runs, *runs], key=lambda run: (ablation.cells.index(run.cell), run.seed))
        results = replace(results, runs=order)
        results.write(path)
        if show is not None:
            show(done, total, f"{job.method}, seed {job.seed}")
    return results


def write_ablation(ablation: Ablation, results: Measurements, folder: Path) -> list[Path]:
    """Write table.md and, where there is a figure, figure.svg and figure.png."""
    table = folder / "table.md"
    try:
        text, figure = ablation.table(results), ablation.figure and ablation.figure(results)
    except (LookupError, StopIteration) as error:  # the file was damaged, or changed by hand
        raise ConfigurationError(
            f"{folder / 'results.json'} lacks numbers of {ablation.name}; move it away, and run the ablation again."
        ) from error
    write_text(table, text + "\n")
    return [table] if figure is None else [table, *save(figure, folder / "figure.svg", PIXELS)]


def _spreads(runs: Sequence[Measurement]) -> dict[str, Spread]:
    columns = {key: [run.numbers[key] for run in runs] for key in runs[0].numbers}
    return {key: Spread(fmean(values), deviation(values)) for key, values in columns.items()}


def _measure(
    run: Measure, plan: Plan, data: Dataset, cell: str, seed: int, _out: Path | None, _show: ShowStep | None
) -> list[Measurement]:
    made_in = environment(plan.device)
    entries = run(cell, seed, Bench(plan.scenario, data, torch.device(plan.device)))
    return [Measurement(cell, seed, entry.protocol, entry.numbers, made_in, entry.lists) for entry in entries]


def _begun(ablation: Ablation, path: Path) -> Measurements:
    """The results that the file holds already, which must be of the same ablation."""
    if not path.exists():
        return Measurements(ablation.name, ablation.scenario, [])
    results = Measurements.read(path)
    same = (results.ablation, results.scenario) == (ablation.name, ablation.scenario)
    if not same or not {run.cell for run in results.runs} <= set(ablation.cells):
        raise ConfigurationError(f"{path} holds another ablation or other cells; choose another folder.")
    return results
