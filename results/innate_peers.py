"""Other analytic methods on the features of the innate encoders, with settings searched on held-back pictures.

Each method gets the features of the network, averaged over a picture and its mirror image unless --plain names the
data set. Its settings are searched as in `if2net tune`: from the start of its space in hyperparameters.toml, with at
least 12 trials if the space has as many, until both neighbours of the best value are tried. A sixth of the training
pictures is held back for it, as in `results/innate.py`. The test follows once per class order. A GPU is needed.

usage: python results/innate_peers.py PICTURES DATA... [--sizes small large] [--methods slda] [--plain mnist]
                                      [--orders 2] [--out FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from innate_widths import features, held_back
from row_files import record

from if2net.errors import NumericalError
from if2net.study.bench import hyperparameters
from if2net.study.bench.search import Trial, proposals
from if2net.study.bench.settings import resolve
from if2net.study.methods import METHODS

DEVICE = "cuda"
PEERS = ("ncm", "slda", "fecam", "ranpac", "acil")
TASKS = {"mnist": 5, "fashion-mnist": 5, "cifar10": 5, "cifar100": 10}
Arrays = tuple[np.ndarray, np.ndarray]


def accuracy(method: str, settings: dict[str, str], train: Arrays, test: Arrays, tasks: int, order: int) -> float:
    """Return the accuracy in percent after all tasks, with the classes in a random order."""
    X, y = train
    classes = np.random.default_rng(order).permutation(int(y.max()) + 1)
    number = np.argsort(classes)  # methods number the classes by their first appearance
    given = [(None, key, value) for key, value in settings.items()]
    chosen = resolve([method], "agnostic", given)[method]
    learner = METHODS[method](X.shape[1], order, torch.device(DEVICE), chosen)
    for task in np.array_split(classes, tasks):
        some = np.isin(y, task)
        learner.learn(X[some], number[y[some]])
    return round(100 * float((learner.predict(test[0]) == number[test[1]]).mean()), 2)


def searched(method: str, train: Arrays, tasks: int) -> list[Trial]:
    """Return all trials on held-back training pictures."""
    X, y = train
    held, tried = held_back(len(y)), list[Trial]()
    space, _ = hyperparameters.space(method)
    while planned := proposals(method, space, tried):
        for settings in planned:
            try:
                percent = accuracy(method, settings, (X[~held], y[~held]), (X[held], y[held]), tasks, 0)
                tried.append(Trial(settings, {"acc": percent}))
            except (NumericalError, torch.OutOfMemoryError) as error:
                tried.append(Trial(settings, error=str(error).splitlines()[0]))
    return tried


def peers(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    device = torch.device(DEVICE)
    for data in arguments.data:
        files = [np.load(arguments.pictures / f"{data}.{part}.npz") for part in ("train", "test")]
        for size in arguments.sizes:
            views = 1 if data in arguments.plain else 2
            train, test = (
                (features(size, file["X"], device)[:, :views].mean(dim=1).cpu().numpy(), file["y"].astype(int))
                for file in files
            )
            for method in arguments.methods:
                started = time.perf_counter()
                tried = searched(method, train, TASKS[data])
                best = max(tried, key=lambda trial: trial.acc.get("acc", -1.0)).settings
                orders = range(arguments.orders)
                accuracies = [accuracy(method, best, train, test, TASKS[data], order) for order in orders]
                yield {
                    "kind": "peer",
                    "method": method,
                    "data": data,
                    "tasks": TASKS[data],
                    "size": size,
                    "views": views,
                    "trials": [trial.as_dict() for trial in tried],
                    "chosen": best,
                    "accuracy": accuracies,
                    "seconds": round(time.perf_counter() - started, 1),
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("data", nargs="+", choices=TASKS)
    parser.add_argument("--sizes", nargs="+", default=["small", "large"])
    parser.add_argument("--methods", nargs="+", default=PEERS)
    parser.add_argument("--plain", nargs="*", default=["mnist"])
    parser.add_argument("--orders", type=int, default=2)
    record(parser, "peers.jsonl", peers, DEVICE)


if __name__ == "__main__":
    main()
