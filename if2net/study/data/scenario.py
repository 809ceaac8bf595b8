"""Scenarios, DATASET-C/T[@BACKBONE]: C classes of a data set, shuffled by the seed, cut evenly into T tasks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from if2net.errors import ConfigurationError, InputError, unknown
from if2net.study.data.datasets import DATASETS, Dataset
from if2net.study.data.image_datasets import IMAGE_DATASETS, default_backbone, has_pictures, is_image_dataset

# The share of the training data that takes the place of the test data in a search.
VALIDATION_SHARE = 1 / 6
PATTERN = r"(.+)-(\d+)/(\d+)(?:@(.+))?"


@dataclass(frozen=True)
class Task:
    """One task of a stream. Labels are positions in the class order: task t has t·C/T to (t+1)·C/T − 1."""

    index: int
    classes: tuple[int, ...]
    train_X: np.ndarray
    train_y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray


@dataclass(frozen=True)
class Scenario:
    """A parsed DATASET-C/T; for images with the backbone, because all results depend on it."""

    dataset: str
    classes: int
    tasks: int
    backbone: str | None = None

    @property
    def name(self) -> str:
        """The scenario as text, which `parse_scenario` reads."""
        backbone = f"@{self.backbone}" if self.backbone else ""
        return f"{self.dataset}-{self.classes}/{self.tasks}{backbone}"

    def check_classes(self, available: int) -> None:
        """Raise an error if the data set has fewer classes than the scenario."""
        if self.classes > available:
            tasks = self.tasks if available % self.tasks == 0 else available
            other = replace(self, classes=available, tasks=tasks)
            raise ConfigurationError(
                f"{self.name} asks for {self.classes} classes, but {self.dataset} has {available}; "
                f"write {other.name} to learn them all."
            )

    def class_order(self, seed: int, available: int) -> list[int]:
        """Return the class of the data set at each position of the stream."""
        self.check_classes(available)
        return np.random.default_rng(seed).permutation(available)[: self.classes].tolist()

    def stream(self, data: Dataset, seed: int, *, validation: bool = False) -> tuple[list[int], list[Task]]:
        """Return the class order and the tasks for one seed.

        With `validation`, a sixth of the training data is held back and takes the place of the test data, which is
        not used at all.
        """
        present = np.unique(data.train_y)  # classes of the backbone's pre-training have no samples
        order = present[self.class_order(seed, len(present))].tolist()
        place = np.full(data.classes, -1)
        place[order] = np.arange(len(order))
        if validation:
            data = _validation_split(data, order)
        train_place, test_place = place[data.train_y], place[data.test_y]
        size = self.classes // self.tasks
        tasks = []
        for index in range(self.tasks):
            classes = tuple(range(index * size, (index + 1) * size))
            train, test = np.isin(train_place, classes), np.isin(test_place, classes)
            samples = data.train_X[train], train_place[train], data.test_X[test], test_place[test]
            tasks.append(Task(index, classes, *samples))
        return order, tasks


def is_scenario(text: str) -> bool:
    """Return whether the text has the form of a scenario."""
    return re.fullmatch(PATTERN, text) is not None


def parse_scenario(text: str, backbone: str | None = None) -> Scenario:
    """Read DATASET-C/T or DATASET-C/T@BACKBONE; the argument `backbone` overrides the text.

    >>> parse_scenario("fashion-mnist-10/5")
    Scenario(dataset='fashion-mnist', classes=10, tasks=5, backbone=None)
    >>> parse_scenario("cub200-100/10").name
    'cub200-100/10@efficientnet-lite0'
    >>> parse_scenario("cifar100-100/10").name
    'cifar100-100/10@innate'
    >>> parse_scenario("mnist-10/5@innate").backbone
    'innate'
    """
    match = re.fullmatch(PATTERN, text)
    if match is None:
        raise ConfigurationError(
            f"A scenario is written DATASET-CLASSES/TASKS, like digits-10/5 or fashion-mnist-10/5, not {text!r}."
        )
    dataset, classes, tasks = match[1], int(match[2]), int(match[3])
    images = is_image_dataset(dataset)
    if not images and dataset not in DATASETS:
        raise unknown("data set", dataset, [*DATASETS, *IMAGE_DATASETS])
    if tasks < 1 or classes < 1 or classes % tasks:
        raise ConfigurationError(
            f"{classes} classes cannot be cut evenly into {tasks} tasks; choose a number of tasks that divides them."
        )
    chosen = backbone or match[4]
    if chosen and not has_pictures(dataset):
        raise ConfigurationError(f"{dataset} is a table of numbers and needs no backbone; leave {chosen} out.")
    return Scenario(dataset, classes, tasks, chosen or (default_backbone(dataset) if images else None))


def _validation_split(data: Dataset, classes: list[int]) -> Dataset:
    """Hold back a share of the training data, drawn with a fixed seed; each of these classes must keep some."""
    chosen = np.random.default_rng(0).random(len(data.train_y)) < VALIDATION_SHARE
    X, y = data.train_X, data.train_y
    for number in classes:
        held_back = chosen[y == number]
        if held_back.all() or not held_back.any():
            raise InputError(
                f"The class {data.class_name(number)} of {data.name} has too few training samples, {len(held_back)}, "
                "to hold some of them back for a search; add more, up to about thirty, or leave the class out."
            )
    return replace(data, train_X=X[~chosen], train_y=y[~chosen], test_X=X[chosen], test_y=y[chosen])
