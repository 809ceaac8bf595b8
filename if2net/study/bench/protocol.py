"""The three protocols: the knowledge that a prediction may use, and the row of R under each.

agnostic      the sample and the model alone; the main results
aware         also the task, which the evaluator passes: every method predicts one of its classes
transductive  also the rest of the batch. It is reported twice, with one task per batch and with the tasks mixed; the
              difference is the information about the task in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from if2net.errors import unknown
from if2net.study.data import Task
from if2net.study.methods import Method

# Protocol → the variants that are reported.
PROTOCOLS: dict[str, tuple[str, ...]] = {
    "agnostic": ("",),
    "aware": ("",),
    "transductive": ("one task per batch", "tasks mixed"),
}
# A variant of aware in the ablations: the task selects the representation, and the prediction may be any class.
AMONG_ALL = "among all classes"
# Decimals of an accuracy: enough for test sets of half a million samples, and short in files.
DIGITS = 6


def check_protocol(name: str) -> None:
    """Raise an error that lists the protocols if there is none of this name."""
    if name not in PROTOCOLS:
        raise unknown("protocol", name, PROTOCOLS)


def accuracies(method: Method, tasks: Sequence[Task], protocol: str, variant: str) -> list[float]:
    """Return the accuracy on each of these tasks under a protocol, rounded to `DIGITS` decimals."""
    predicted = predictions(method, tasks, protocol, variant)
    pairs = zip(predicted, tasks, strict=True)
    return [round(float(np.mean(answers == task.test_y)), DIGITS) for answers, task in pairs]


def confusion(method: Method, tasks: Sequence[Task], protocol: str, variant: str) -> np.ndarray:
    """Return counts of test samples by [true class][predicted class], numbered by their place in the stream."""
    predicted = np.concatenate(predictions(method, tasks, protocol, variant))
    true = np.concatenate([task.test_y for task in tasks])
    classes = sum(len(task.classes) for task in tasks)
    counts = np.zeros((classes, classes), dtype=int)
    np.add.at(counts, (true, predicted), 1)
    return counts


def predictions(method: Method, tasks: Sequence[Task], protocol: str, variant: str) -> list[np.ndarray]:
    """Return the predicted classes for the test samples of each of these tasks."""
    if variant == "tasks mixed":
        return at_once(method, tasks, transductive=True)
    if protocol == "aware":
        return [
            method.predict(task.test_X, task=place, classes=None if variant == AMONG_ALL else task.classes)
            for place, task in enumerate(tasks)
        ]
    return [method.predict(task.test_X, transductive=protocol == "transductive") for task in tasks]


def at_once(method: Method, tasks: Sequence[Task], *, transductive: bool = False) -> list[np.ndarray]:
    """Return the predicted classes for each of these tasks, with the samples of all tasks in one batch."""
    everything = np.concatenate([task.test_X for task in tasks])
    ends = np.cumsum([len(task.test_y) for task in tasks])[:-1]
    return np.split(method.predict(everything, transductive=transductive), ends)
