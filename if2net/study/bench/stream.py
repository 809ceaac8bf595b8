"""One method on one stream of tasks. A killed run continues after its last checkpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as checked_dataclass

from if2net import modelfile
from if2net.errors import ModelFileError, NumericalError
from if2net.output_folders import make_folder
from if2net.study.bench.environment import environment
from if2net.study.bench.metrics import check
from if2net.study.bench.protocol import PROTOCOLS, accuracies, confusion
from if2net.study.bench.results import CHECKED, Accuracy, Backbone, Count, Run, Seconds, pack
from if2net.study.data import Dataset, Scenario, Task
from if2net.study.methods import METHODS, Method

# Seconds of work that a killed run may lose. The state of a wide method takes seconds to write.
BETWEEN_CHECKPOINTS = 10.0


@dataclass(frozen=True)
class Plan:
    """The methods to run on a scenario, with everything that the results depend on."""

    scenario: Scenario
    settings: dict[str, Any]  # method → its resolved settings, in the order of running
    seeds: tuple[int, ...]
    protocol: str = "agnostic"
    device: str = "cpu"
    validation: bool = False
    first: int | None = None  # the number of first tasks to learn, in a search; None for all

    def as_dict(self) -> dict[str, Any]:
        """Return the content of config.json."""
        return {
            "scenario": self.scenario.name,
            "protocol": self.protocol,
            "seeds": list(self.seeds),
            "device": self.device,
            "methods": {name: asdict(settings) for name, settings in self.settings.items()},
        }


@dataclass(frozen=True)
class Step:
    """A task that has been learned and tested, for the display of progress."""

    method: str
    seed: int
    task: int
    tasks: int
    accuracy: float  # on all tasks seen so far


ShowStep = Callable[[Step], None]


@dataclass
class Stream:
    """One method on the tasks of one seed, with the results so far."""

    method: Method
    tasks: list[Task]
    order: list[int]
    rows: dict[str, list[list[float]]]  # variant → rows of R so far
    backbone: dict[str, str | None] | None = None  # of the data, see `Dataset`
    seconds: dict[str, float] = field(default_factory=lambda: {"learn": 0.0, "predict": 0.0})


def learn_stream(
    plan: Plan, data: Dataset, name: str, seed: int, out: Path | None = None, show: ShowStep | None = None
) -> Stream:
    """Learn and test one stream of tasks, from the beginning or from the checkpoint in `out`."""
    order, tasks = plan.scenario.stream(data, seed, validation=plan.validation)
    tasks = tasks[: plan.first]
    rows: dict[str, list[list[float]]] = {variant: [] for variant in PROTOCOLS[plan.protocol]}
    stream = Stream(_method(plan, name, seed, tasks), tasks, order, rows, data.backbone)
    checkpoint = None if out is None else checkpoint_path(out, name, seed)
    resumed = checkpoint is not None and _resume(stream, checkpoint)
    saved = time.monotonic()
    for task in tasks[stream.method.tasks :]:
        try:
            _learn_and_test(plan, stream, task)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            if not resumed or isinstance(error, NumericalError):
                raise
            raise ModelFileError(
                f"{name} cannot continue from the checkpoint {checkpoint} ({error}). If memory has not run out, the "
                "checkpoint is damaged. Delete it; the method then starts again."
            ) from error
        if checkpoint is not None and time.monotonic() - saved >= BETWEEN_CHECKPOINTS:
            _save_checkpoint(stream, checkpoint)
            saved = time.monotonic()
        if show is not None:
            last = next(iter(stream.rows.values()))[-1]
            show(Step(name, seed, task.index, len(tasks), sum(last) / len(last)))
    return stream


def finished_runs(
    plan: Plan, data: Dataset, name: str, seed: int, out: Path | None = None, show: ShowStep | None = None
) -> list[Run]:
    """Learn one stream of tasks; return one run per variant of the protocol."""
    made_in = environment(plan.device)
    stream = learn_stream(plan, data, name, seed, out, show)
    independent = _independent(plan, stream, name, seed)
    costs = asdict(stream.method.costs())
    return [
        Run(
            method=name,
            variant=variant,
            seed=seed,
            class_order=stream.order,
            R=rows,
            independent=independent[variant],
            seconds=Seconds(**{part: round(spent, 3) for part, spent in stream.seconds.items()}),
            environment=made_in,
            confusion=pack(confusion(stream.method, stream.tasks, plan.protocol, variant)),
            backbone=Backbone(**stream.backbone) if stream.backbone else None,  # type: ignore[arg-type]
            **costs,
        )
        for variant, rows in stream.rows.items()
    ]


def checkpoint_path(out: Path, name: str, seed: int) -> Path:
    """Return the checkpoint of a stream in the folder of its plan."""
    return out / "checkpoints" / f"{name}-{seed}.if2"


def _method(plan: Plan, name: str, seed: int, tasks: list[Task]) -> Method:
    return METHODS[name](tasks[0].train_X.shape[1], seed, torch.device(plan.device), plan.settings[name])


def _learn_and_test(plan: Plan, stream: Stream, task: Task) -> None:
    start = time.perf_counter()
    stream.method.learn(task.train_X, task.train_y)
    learned = time.perf_counter()
    for variant, rows in stream.rows.items():
        rows.append(accuracies(stream.method, stream.tasks[: task.index + 1], plan.protocol, variant))
    stream.seconds["learn"] += learned - start
    stream.seconds["predict"] += time.perf_counter() - learned


def _independent(plan: Plan, stream: Stream, name: str, seed: int) -> dict[str, list[float]]:
    """Return R_ind of each variant: the accuracy on each task of a model that has learned that task alone."""
    independent = {variant: [rows[0][0]] for variant, rows in stream.rows.items()}  # the first task was learned alone
    for task in stream.tasks[1:]:
        method = _method(plan, name, seed, stream.tasks)
        method.learn(task.train_X, task.train_y)
        for variant, row in independent.items():
            row += accuracies(method, [task], plan.protocol, variant)
    return independent


def _save_checkpoint(stream: Stream, path: Path) -> None:
    make_folder(path.parent, "choose another folder")
    header = {"tasks": stream.method.tasks, "rows": stream.rows, "seconds": stream.seconds}
    modelfile.write(path, stream.method.tensors(), header | _identity(stream))


def _resume(stream: Stream, path: Path) -> bool:
    """Continue after the last checkpoint of this stream; return whether there is one."""
    if not path.exists():
        return False
    try:
        tensors, header = modelfile.read(path)
        if any(header.get(key) != value for key, value in _identity(stream).items()):
            return False
        begun = _BEGUN.validate_json(json.dumps({key: header[key] for key in ("tasks", "rows", "seconds")}))
        lengths = {len(rows) for rows in begun.rows.values()}
        if begun.rows.keys() != stream.rows.keys() or lengths != {begun.tasks} or begun.tasks > len(stream.tasks):
            raise ModelFileError("Its rows are not those of its tasks.")
        for rows in begun.rows.values():
            check(rows)
        stream.method.tasks = begun.tasks
        stream.method.restore(tensors)
        scores = stream.method.class_scores(stream.tasks[0].test_X[:1], task=0)
        if scores.shape[1] != stream.tasks[begun.tasks - 1].classes[-1] + 1:
            raise ModelFileError("Its classes are not those of its tasks.")
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # the methods restore their tensors in many ways
        raise ModelFileError(
            f"The checkpoint {path} is damaged or of another version. Delete it; the method then starts again."
        ) from error
    stream.rows, stream.seconds = begun.rows, asdict(begun.seconds)
    return True


@checked_dataclass(frozen=True, config=CHECKED)
class _Begun:
    """The results in the header of a checkpoint."""

    tasks: Count
    rows: dict[str, list[list[Accuracy]]]
    seconds: Seconds


_BEGUN = TypeAdapter(_Begun)


def _identity(stream: Stream) -> dict[str, Any]:
    """Return everything that the rest of a stream depends on; a checkpoint with another identity is not used."""
    return {"order": stream.order, "settings": asdict(stream.method.settings), "backbone": stream.backbone}
