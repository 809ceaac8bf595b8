"""R of one stream, read under every protocol that its representation allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

from if2net.study.ablations.ablation import Entry
from if2net.study.bench import metrics
from if2net.study.bench.protocol import AMONG_ALL, PROTOCOLS, accuracies
from if2net.study.data import Task
from if2net.study.methods import Method

Reading = tuple[str, str]  # protocol and variant
# One representation for all tasks needs the sample alone. One per task needs the task or a batch.
REPRESENTATIONS = {"agnostic": "first", "aware": "per-task", "transductive": "per-task"}


def readings_of(protocol: str) -> list[Reading]:
    """The variants of a protocol; under aware only the representation of the task is given, not its classes."""
    return [(protocol, variant) for variant in ([AMONG_ALL] if protocol == "aware" else PROTOCOLS[protocol])]


def label(reading: Reading) -> str:
    """Protocol and variant in one.

    >>> label(("aware", AMONG_ALL)), label(("transductive", "tasks mixed"))
    ('aware', 'transductive, tasks mixed')
    """
    return ", ".join(part for part in reading if part and part != AMONG_ALL)


# Representation → the protocols that one learned model can be read under.
READINGS: dict[str, list[Reading]] = {
    "first": readings_of("agnostic"),
    "per-task": [*readings_of("aware"), *readings_of("transductive")],
}
LABELS = [label(reading) for readings in READINGS.values() for reading in readings]


def measured(make: Callable[[str], Method], tasks: Sequence[Task]) -> list[Entry]:
    """Measure under every protocol. `make` creates a method with a representation."""
    return [
        entry
        for representation, readings in READINGS.items()
        for entry in follow(partial(make, representation), tasks, readings)
    ]


def follow(
    fresh: Callable[[], Method], tasks: Sequence[Task], readings: Sequence[Reading], *, alone: bool = True
) -> list[Entry]:
    """Learn the tasks one after the other and measure ACC under each reading, and BWT where all of R is known.

    With `alone`, each task is also learned by a model of its own, for FWT. Transductive predictions take longer than
    learning, so they are made after the last task only.
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
            for reading, row in independent.items():
                row += accuracies(single, [task], *reading)
    entries = []
    for reading in readings:
        if reading in rows:
            numbers = _metrics(rows[reading], independent[reading])
        else:
            numbers = {"acc": fmean(accuracies(method, tasks, *reading))}
        entries.append(Entry(label(reading), numbers))
    return entries


def _metrics(R: metrics.Matrix, independent: list[float]) -> dict[str, float]:
    numbers = {"acc": metrics.acc(R), "bwt": metrics.bwt(R)}
    return numbers | ({"fwt": metrics.fwt(R, independent)} if independent else {})
