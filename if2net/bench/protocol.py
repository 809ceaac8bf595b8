"""What a prediction may depend on: the three protocols, and the row of R that each gives.

agnostic      on the sample and the model alone. The headline.
aware         also on the task, which the evaluator passes.
transductive  also on the rest of the batch. Reported twice, with one task per batch and with the tasks mixed: the
              difference is what leaks through the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from if2net.data import Task
from if2net.methods import Method

# Under each protocol, the variants that are reported.
PROTOCOLS: dict[str, tuple[str, ...]] = {
    "agnostic": ("",),
    "aware": ("",),
    "transductive": ("one task per batch", "tasks mixed"),
}


def accuracies(method: Method, tasks: Sequence[Task], protocol: str, variant: str) -> list[float]:
    """The accuracy on each of these tasks, as the protocol allows it."""
    if variant == "tasks mixed":
        return _mixed(method, tasks)
    return [_accuracy(_predict(method, task, place, protocol), task) for place, task in enumerate(tasks)]


def _predict(method: Method, task: Task, place: int, protocol: str) -> np.ndarray:
    if protocol == "aware":
        return method.predict(task.test_X, task=place)
    return method.predict(task.test_X, transductive=protocol == "transductive")


def _mixed(method: Method, tasks: Sequence[Task]) -> list[float]:
    everything = np.concatenate([task.test_X for task in tasks])
    predictions = method.predict(everything, transductive=True)
    ends = np.cumsum([len(task.test_y) for task in tasks])[:-1]
    return [_accuracy(part, task) for part, task in zip(np.split(predictions, ends), tasks, strict=True)]


def _accuracy(predictions: np.ndarray, task: Task) -> float:
    return float(np.mean(predictions == task.test_y))
