"""The innate encoders on whole data sets: mirror images on held-back pictures, then the test, once per class order.

FOLDER has two files per data set, such as fashion-mnist.train.npz and fashion-mnist.test.npz, each with pictures X
(N×H×W or N×H×W×3 bytes) and numbers of classes y.

usage: python results/innate.py FOLDER [--device cuda] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from if2net.encoder import INNATE
from if2net.files import write_text
from if2net.learner import IF2Net

# Data set → numbers of tasks.
TASKS = {"mnist": (5,), "fashion-mnist": (5,), "cifar10": (5,), "cifar100": (10, 20, 50, 100)}
ORDERS = 5
Arrays = tuple[np.ndarray, np.ndarray]


def percent(net: IF2Net, X: np.ndarray, y: np.ndarray) -> float:
    return round(100 * float((net.predict(X) == y).mean()), 2)


def held_back(train: Arrays, **settings: Any) -> float:
    """Return the accuracy on a sixth of the training pictures, learned from the others."""
    X, y = train
    held = np.random.default_rng(0).permutation(len(y)) % 6 == 0
    return percent(IF2Net(**settings).learn(X[~held], y[~held]), X[held], y[held])


def streamed(train: Arrays, test: Arrays, tasks: int, order: int, **settings: Any) -> float:
    """Return the test accuracy after the classes have been learned in tasks, in a random order."""
    X, y = train
    net = IF2Net(**settings)
    for classes in np.array_split(np.random.default_rng(order).permutation(int(y.max()) + 1), tasks):
        chosen = np.isin(y, classes)
        net.learn(X[chosen], y[chosen])
    return percent(net, *test)


def rows(folder: Path, device: str) -> Iterator[dict[str, Any]]:
    for name, numbers in TASKS.items():
        train, test = (
            (split["X"], split["y"].astype(int))
            for split in (np.load(folder / f"{name}.{s}.npz") for s in ("train", "test"))
        )
        for encoder in INNATE:
            both = {flips: held_back(train, encoder=encoder, device=device, flips=flips) for flips in (True, False)}
            for flips, accuracy in both.items():
                yield {"kind": "held back", "data": name, "encoder": encoder, "flips": flips, "accuracy": accuracy}
            settings = {"encoder": encoder, "device": device, "flips": max(both, key=lambda flips: both[flips])}
            for tasks in numbers:
                accuracies = [streamed(train, test, tasks, order, **settings) for order in range(ORDERS)]
                yield {"kind": "product", "data": name, "tasks": tasks, "accuracy": accuracies, "settings": settings}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "innate" / "rows.jsonl")
    arguments = parser.parse_args()
    lines = []
    for row in rows(arguments.folder, arguments.device):
        lines.append(json.dumps(row) + "\n")
        print(lines[-1], end="", flush=True)
    write_text(arguments.out, "".join(lines))


if __name__ == "__main__":
    main()
