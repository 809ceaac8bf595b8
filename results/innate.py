"""Test accuracy of the innate encoders on whole data sets, once per class order.

Held-back training pictures decide whether mirror images are used. FOLDER has two files per data set, such as
fashion-mnist.train.npz and fashion-mnist.test.npz, each with pictures X (N×H×W or N×H×W×3 bytes) and class numbers y.

usage: python results/innate.py FOLDER [--encoder innate] [--data NAME] [--tasks N] [--orders N] [--flips true]
                                [--device cuda] [--out FILE]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from innate_widths import held_back
from row_files import record

from if2net.encoder import INNATE
from if2net.encoder.innate.encoder import NODES
from if2net.learner import IF2Net

# Data set → numbers of tasks.
TASKS = {"mnist": (5,), "fashion-mnist": (5,), "cifar10": (5,), "cifar100": (10, 20, 50, 100)}
ORDERS = 5
Arrays = tuple[np.ndarray, np.ndarray]


def percent(net: IF2Net, X: np.ndarray, y: np.ndarray) -> float:
    return round(100 * float((net.predict(X) == y).mean()), 2)


def held_back_accuracy(train: Arrays, **settings: Any) -> float:
    """Return the accuracy on the held-back sixth of the training pictures after learning the others."""
    X, y = train
    held = held_back(len(y))
    return percent(IF2Net(**settings).learn(X[~held], y[~held]), X[held], y[held])


def streamed(train: Arrays, test: Arrays, tasks: int, order: int, **settings: Any) -> float:
    """Return the test accuracy after learning the classes task by task, in a random order."""
    X, y = train
    net = IF2Net(**settings)
    for classes in np.array_split(np.random.default_rng(order).permutation(int(y.max()) + 1), tasks):
        chosen = np.isin(y, classes)
        net.learn(X[chosen], y[chosen])
    return percent(net, *test)


def read(folder: Path, data: str, part: str) -> Arrays:
    file = np.load(folder / f"{data}.{part}.npz")
    return file["X"], file["y"].astype(int)


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for name in arguments.data or TASKS:
        train, test = (read(arguments.folder, name, part) for part in ("train", "test"))
        for encoder in arguments.encoder or INNATE:
            width = NODES[INNATE[encoder]] if arguments.width is None else arguments.width
            facts = {"data": name, "encoder": encoder, "width": width}
            settings = {"encoder": encoder, "device": arguments.device, "width": width}
            both = {}
            if arguments.flips is None:
                both = {flips: held_back_accuracy(train, **settings, flips=flips) for flips in (True, False)}
                for flips, accuracy in both.items():
                    yield facts | {"kind": "held back", "flips": flips, "accuracy": accuracy}
            settings["flips"] = max(both, key=lambda flips: both[flips]) if both else arguments.flips == "true"
            for tasks in arguments.tasks or TASKS[name]:
                orders = range(arguments.orders)
                accuracies = [streamed(train, test, tasks, order, **settings) for order in orders]
                yield facts | {"kind": "product", "tasks": tasks, "accuracy": accuracies, "settings": settings}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoder", nargs="*", choices=INNATE)
    parser.add_argument("--data", nargs="*", choices=TASKS)
    parser.add_argument("--tasks", nargs="*", type=int)
    parser.add_argument("--orders", type=int, default=ORDERS)
    parser.add_argument("--width", type=int)
    parser.add_argument("--flips", choices=("true", "false"), help="without it, held-back pictures decide")
    parser.add_argument("--device", default="auto")
    record(parser, "rows.jsonl", rows)


if __name__ == "__main__":
    main()
