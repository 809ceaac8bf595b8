"""One method on one stream of tasks; a run that was killed goes on after its last finished task."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from if2net import modelfile
from if2net.study.bench import results as store
from if2net.study.bench.protocol import PROTOCOLS, accuracies, confusion
from if2net.study.data import Dataset, Scenario, Task
from if2net.study.methods import METHODS, Method

# Seconds of work that a killed run may lose: what a wide method keeps takes seconds to write.
BETWEEN_CHECKPOINTS = 10.0


@dataclass(frozen=True)
class Plan:
    """What is to be run: everything that the numbers depend on."""

    scenario: Scenario
    settings: dict[str, Any]  # method name → its resolved settings, in the order of running
    seeds: tuple[int, ...]
    protocol: str = "agnostic"
    device: str = "cpu"
    validation: bool = False


@dataclass(frozen=True)
class Step:
    """A piece of work that has just been finished, for whoever shows progress."""

    method: str
    seed: int
    task: int
    tasks: int
    accuracy: float  # on all tasks seen so far
    scenario: str = ""


Show = Callable[[Step], None]


@dataclass
class Run:
    """One method on one seed, as far as it has come."""

    method: Method
    tasks: list[Task]
    order: list[int]
    rows: dict[str, list[list[float]]]  # variant → rows of R so far
    backbone: dict[str, str | None] | None = None  # of the data, see `Dataset`
    seconds: dict[str, float] = field(default_factory=lambda: {"learn": 0.0, "predict": 0.0})


def learn_stream(
    plan: Plan, data: Dataset, name: str, seed: int, out: Path | None = None, show: Show | None = None
) -> Run:
    """Learn and test one stream of tasks, from the beginning or from the checkpoint in `out`."""
    order, tasks = plan.scenario.stream(data, seed, validation=plan.validation)
    rows: dict[str, list[list[float]]] = {variant: [] for variant in PROTOCOLS[plan.protocol]}
    run = Run(_method(plan, name, seed, tasks), tasks, order, rows, data.backbone)
    if out is not None:
        _resume(run, out, name, seed)
    saved = time.monotonic()
    for task in tasks[run.method.tasks :]:
        _learn_and_test(plan, run, task)
        if out is not None and time.monotonic() - saved >= BETWEEN_CHECKPOINTS:
            _save_checkpoint(run, out, name, seed)
            saved = time.monotonic()
        if show is not None:
            last = next(iter(run.rows.values()))[-1]
            show(Step(name, seed, task.index, len(tasks), sum(last) / len(last), plan.scenario.name))
    return run


def finished_runs(
    plan: Plan, data: Dataset, name: str, seed: int, out: Path | None = None, show: Show | None = None
) -> list[dict[str, Any]]:
    """The entries of "runs" for one stream, one a variant of the protocol."""
    run = learn_stream(plan, data, name, seed, out, show)
    alone = _independent(plan, run, name, seed)
    costs = {**asdict(run.method.costs()), "device": store.device_name(plan.device)}
    origin = {"backbone": run.backbone} if run.backbone else {}
    return [
        store.finished_run(name, variant, seed, run.order, matrix(rows), alone[variant], dict(run.seconds), costs)
        | {"confusion": confusion(run.method, run.tasks, plan.protocol, variant), **origin}
        for variant, rows in run.rows.items()
    ]


def matrix(rows: list[list[float]]) -> list[list[float | None]]:
    """R: the rows with None where a task had not been learned yet."""
    return [[*row, *[None] * (len(rows) - len(row))] for row in rows]


def checkpoint_path(out: Path, name: str, seed: int) -> Path:
    return out / "checkpoints" / f"{name}-{seed}.if2"


def _method(plan: Plan, name: str, seed: int, tasks: list[Task]) -> Method:
    return METHODS[name](tasks[0].train_X.shape[1], seed, torch.device(plan.device), plan.settings[name])


def _learn_and_test(plan: Plan, run: Run, task: Task) -> None:
    start = time.perf_counter()
    run.method.learn(task.train_X, task.train_y)
    learned = time.perf_counter()
    for variant, rows in run.rows.items():
        rows.append(accuracies(run.method, run.tasks[: task.index + 1], plan.protocol, variant))
    run.seconds["learn"] += learned - start
    run.seconds["predict"] += time.perf_counter() - learned


def _independent(plan: Plan, run: Run, name: str, seed: int) -> dict[str, list[float]]:
    """R_ind: the accuracy on each task of a model that has learned that task alone."""
    found: dict[str, list[float]] = {variant: [] for variant in run.rows}
    for task in run.tasks:
        method = _method(plan, name, seed, run.tasks)
        method.learn(task.train_X, task.train_y)
        for variant, row in found.items():
            row += accuracies(method, [task], plan.protocol, variant)
    return found


def _save_checkpoint(run: Run, out: Path, name: str, seed: int) -> None:
    path = checkpoint_path(out, name, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"tasks": run.method.tasks, "rows": run.rows, "seconds": run.seconds, "order": run.order}
    header |= {"settings": asdict(run.method.settings), "backbone": run.backbone}
    modelfile.write(path, run.method.tensors(), header)


def _resume(run: Run, out: Path, name: str, seed: int) -> None:
    """Go on from the last finished task, if there is one of this very run."""
    path = checkpoint_path(out, name, seed)
    if not path.exists():
        return
    tensors, header = modelfile.read(path)
    if header["order"] != run.order or header["settings"] != asdict(run.method.settings):
        return
    if header.get("backbone", run.backbone) != run.backbone:  # older checkpoints do not have it
        return
    run.method.tasks = header["tasks"]
    run.method.restore(tensors)
    run.rows, run.seconds = header["rows"], header["seconds"]
