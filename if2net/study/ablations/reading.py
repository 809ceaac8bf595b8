"""R of one learned stream, read under every protocol that its representation allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

from if2net.study.ablations.cells import Entry
from if2net.study.bench import metrics
from if2net.study.bench.protocol import PROTOCOLS, accuracies
from if2net.study.bench.stream import matrix
from if2net.study.data import Task
from if2net.study.methods import Method

Reading = tuple[str, str]  # protocol and variant
# With one representation for all tasks nothing but the sample is needed; with one a task, the task or a batch.
REPRESENTATIONS = {"agnostic": "first", "aware": "per-task", "transductive": "per-task"}


def readings_of(protocol: str) -> list[Reading]:
    return [(protocol, variant) for variant in PROTOCOLS[protocol]]


def label(reading: Reading) -> str:
    """
    >>> label(("aware", "")), label(("transductive", "tasks mixed"))
    ('aware', 'transductive, tasks mixed')
    """
    return ", ".join(part for part in reading if part)


# By representation, so that one learned model is read in all the ways it can be.
READINGS: dict[str, list[Reading]] = {
    "first": readings_of("agnostic"),
    "per-task": [*readings_of("aware"), *readings_of("transductive")],
}
LABELS = [label(reading) for readings in READINGS.values() for reading in readings]


def measured(make: Callable[[str], Method], tasks: Sequence[Task]) -> list[Entry]:
    """Under every protocol; `make` gives a method that has learned nothing, by representation."""
    return [
        entry
        for representation, readings in READINGS.items()
        for entry in follow(partial(make, representation), tasks, readings)
    ]


def follow(
    fresh: Callable[[], Method], tasks: Sequence[Task], readings: Sequence[Reading], *, alone: bool = True
) -> list[Entry]:
    """Learn the tasks one after the other: ACC under every reading, and BWT where every row of R is known.

    FWT too where each task is to be learned `alone` as well. Solving the tweak again on test data takes longer than
    learning does, so transductive predictions are made in the end only.
    """
    method = fresh()
    rows: dict[Reading, list[list[float]]] = {reading: [] for reading in readings if reading[0] != "transductive"}
    independent: dict[Reading, list[float]] = {reading: [] for reading in rows}
    for count, task in enumerate(tasks, start=1):
        method.learn(task.train_X, task.train_y)
        for reading, R in rows.items():
            R.append(accuracies(method, tasks[:count], *reading))
        if alone and rows:
            single = fresh()
            single.learn(task.train_X, task.train_y)
            for reading, found in independent.items():
                found += accuracies(single, [task], *reading)
    return [
        {"protocol": label(reading)}
        | (_metrics(rows[reading], independent[reading]) if reading in rows else _last(method, tasks, reading))
        for reading in readings
    ]


def _metrics(rows: list[list[float]], independent: list[float]) -> Entry:
    R = matrix(rows)
    found = {"acc": metrics.acc(R), "bwt": metrics.bwt(R)}
    return found | ({"fwt": metrics.fwt(R, independent)} if independent else {})


def _last(method: Method, tasks: Sequence[Task], reading: Reading) -> Entry:
    return {"acc": fmean(accuracies(method, tasks, *reading))}
