"""How fast a task is learned and then predicted, against the recipes of the peers, on the same features in one run.

Every contender runs in a process of its own, so that its peak memory is its own, and learns the same two tasks, MNIST
and then FashionMNIST, of the size of CIFAR-100's tasks. Features are random ReLU responses, made before the clock
starts. Reported is the second task, and the prediction of as many samples, the median of five. After each contender
ours is measured three times, to compare with: the median counts.
usage: IF2NET_DATA=DIR python benchmarks/learning.py [--width 10000] [--only NAME,...]
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from if2net.study.bench.results import environment
from if2net.study.data import load_dataset

TASKS = ("mnist", "fashion-mnist")
SAMPLES, CLASSES = 5000, 10  # of each, to learn from and to test with
RIDGES = [10.0**power for power in range(-8, 9)]
REPEATED = 3

Learner = tuple[Callable[[torch.Tensor, torch.Tensor], None], Callable[[torch.Tensor], torch.Tensor]]


def make_features(folder: Path, width: int) -> None:
    """Digits, then articles of clothing, through one random ReLU layer; written as one file a task."""
    generator = torch.Generator().manual_seed(0)
    for task, name in enumerate(TASKS):
        data = load_dataset(name)
        weights = torch.randn(data.train_X.shape[1], width, generator=torch.Generator().manual_seed(1))
        for part, X, y in (("train", data.train_X, data.train_y), ("test", data.test_X, data.test_y)):
            few = torch.randperm(len(y), generator=generator)[:SAMPLES].numpy()
            V = torch.relu(torch.from_numpy(X[few]) @ weights / weights.shape[0] ** 0.5)
            np.save(folder / f"{part}-{task}.npy", V.numpy())
            np.save(folder / f"{part}-{task}-y.npy", y[few] + task * CLASSES)


def ours(width: int, classes: int) -> Learner:
    from if2net import IF2Net

    net = IF2Net(encoder="linear", standardise="none", device="cpu", seed=0)

    def learn(V: torch.Tensor, y: torch.Tensor) -> None:
        net.learn(V, y)
        _ = net.decision.beta

    return learn, net.scores


def ranpac(width: int, classes: int) -> Learner:
    """float32; at each task 17 ridges, a solve for each, on four fifths of the task; then a solve on everything."""
    G, Q = torch.zeros(width, width), torch.zeros(width, classes)
    state = {"W": Q}

    def learn(V: torch.Tensor, y: torch.Tensor) -> None:
        nonlocal G, Q
        Y = torch.nn.functional.one_hot(y, classes).float()
        cut = int(0.8 * len(V))
        G_part, Q_part = V[:cut].T @ V[:cut], V[:cut].T @ Y[:cut]
        errors = []
        for ridge in RIDGES:
            W = torch.linalg.solve(G_part + ridge * torch.eye(width), Q_part)
            errors.append(float((V[cut:] @ W - Y[cut:]).square().mean()))
        G, Q = G + V.T @ V, Q + V.T @ Y
        best = RIDGES[int(np.nanargmin(errors))]
        state["W"] = torch.linalg.solve(G + best * torch.eye(width), Q)

    return learn, lambda V: V @ state["W"]


def acil(width: int, classes: int, *, published: bool = True) -> Learner:
    """The recursion of the inverse in float64, in batches of 1,000.

    Published code multiplies its five matrices from left to right, which makes a product of two S × S matrices; in
    the best order there is none. Both are here.
    """
    R, W = torch.eye(width, dtype=torch.float64) / 0.1, torch.zeros(width, classes, dtype=torch.float64)

    def learn(V: torch.Tensor, y: torch.Tensor) -> None:
        for X, labels in zip(V.double().split(1000), y.split(1000), strict=True):
            Y = torch.nn.functional.one_hot(labels, classes).double()
            RX = R @ X.T
            K = torch.linalg.inv(torch.eye(len(X), dtype=torch.float64) + X @ RX)
            R.sub_(RX @ K @ X @ R if published else RX @ K @ RX.T)
            W.add_(R @ X.T @ (Y - X @ W))

    return learn, lambda V: V.double() @ W


def slda(width: int, classes: int) -> Learner:
    """Class means and one running covariance in float32, inverted after each task."""
    Sigma, means, counts = torch.zeros(width, width), torch.zeros(classes, width), torch.zeros(classes)
    state: dict[str, torch.Tensor] = {}

    def learn(V: torch.Tensor, y: torch.Tensor) -> None:
        before = float(counts.sum())
        for label in y.unique().tolist():
            own = y == label
            means[label], counts[label] = V[own].mean(dim=0), own.sum()
        centred = V - means[y]
        Sigma.mul_(before / (before + len(V))).add_(centred.T @ centred, alpha=1 / (before + len(V)))
        state["W"] = torch.linalg.inv((1 - 1e-2) * Sigma + 1e-2 * torch.eye(width)) @ means.T

    def scores(V: torch.Tensor) -> torch.Tensor:
        return V @ state["W"] - (means.T * state["W"]).sum(dim=0) / 2

    return learn, scores


def ridge_classifier(width: int, classes: int) -> Learner:
    """scikit-learn's RidgeClassifier, fitted again to everything seen."""
    from sklearn.linear_model import RidgeClassifier

    model, seen = RidgeClassifier(alpha=1e3), []

    def learn(V: torch.Tensor, y: torch.Tensor) -> None:
        seen.append((V.numpy(), y.numpy()))
        model.fit(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))

    return learn, lambda V: torch.from_numpy(np.asarray(model.decision_function(V.numpy())))


def sgd_classifier(width: int, classes: int) -> Learner:
    """scikit-learn's SGDClassifier.partial_fit, one pass."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(random_state=0)
    return (
        lambda V, y: model.partial_fit(V.numpy(), y.numpy(), classes=np.arange(classes)),
        lambda V: torch.from_numpy(model.decision_function(V.numpy())),
    )


CONTENDERS = {
    "if2net": ours,
    "ranpac's recipe": ranpac,
    "acil's recursion as published": acil,
    "acil's in the best order": partial(acil, published=False),
    "slda": slda,
    "RidgeClassifier refitted": ridge_classifier,
    "SGDClassifier.partial_fit": sgd_classifier,
}


def highest_memory() -> float:
    """Megabytes that this process has had at most. (What `getrusage` says begins with the memory of the parent.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(name: str, folder: Path, width: int, pipe: Any) -> None:
    """Learn all tasks; send seconds a task, the accuracy on all of them, and what memory it took at most."""
    for library in ("if2net.learner", "scipy.linalg.blas", "sklearn.linear_model"):
        importlib.import_module(library)  # not counted
    before = highest_memory()
    learn, scores = CONTENDERS[name](width, len(TASKS) * CLASSES)
    seconds = []
    for task in range(len(TASKS)):
        V, y = (torch.from_numpy(np.load(folder / f"train-{task}{end}.npy")) for end in ("", "-y"))
        start = time.perf_counter()
        learn(V, y)
        seconds.append(time.perf_counter() - start)
        del V  # no contender may have more than one task's features in memory, unless it keeps them itself
    peak = highest_memory() - before
    V = torch.from_numpy(np.load(folder / "test-0.npy"))
    predicting = []
    for _ in range(6):
        start = time.perf_counter()
        scores(V).argmax(dim=1)
        predicting.append(time.perf_counter() - start)
    right = [
        scores(torch.from_numpy(np.load(folder / f"test-{task}.npy"))).argmax(dim=1).numpy()
        == np.load(folder / f"test-{task}-y.npy")
        for task in range(len(TASKS))
    ]
    pipe.send(
        {
            "seconds": seconds,
            "seconds_to_predict": median(predicting[1:]),
            "accuracy": float(np.concatenate(right).mean()),
            "peak_megabytes": peak,
        }
    )


def measured(name: str, folder: Path, width: int) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=measure, args=(name, folder, width, there))
    process.start()
    found = here.recv()
    process.join()
    return found


def compare(found: dict[str, Any], ours: list[dict[str, Any]]) -> None:
    """With ours as it is right afterwards: in between, a machine that others use may have become slower."""
    found["seconds_a_task"], found["each_of_ours"] = found["seconds"][-1], [once["seconds"][-1] for once in ours]
    found["seconds_of_ours"] = median(found["each_of_ours"])
    found["times_ours"] = found["seconds_a_task"] / found["seconds_of_ours"]
    found["times_ours_to_predict"] = found["seconds_to_predict"] / median(once["seconds_to_predict"] for once in ours)


def line(name: str, found: dict[str, Any]) -> str:
    return (
        f"{name:30} {found['seconds_a_task']:8.2f} s a task ({found['times_ours']:5.1f} × ours), "
        f"predicted in {found['seconds_to_predict']:.3f} s ({found['times_ours_to_predict']:.2f} × ours), "
        f"{100 * found['accuracy']:.2f} %, {found['peak_megabytes']:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=10_000)
    parser.add_argument("--only", default=",".join(CONTENDERS))
    arguments = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        make_features(Path(folder), arguments.width)
        for name in arguments.only.split(","):
            found[name] = measured(name, Path(folder), arguments.width)
            compare(found[name], [measured("if2net", Path(folder), arguments.width) for _ in range(REPEATED)])
            print(line(name, found[name]), flush=True)
    if arguments.only == ",".join(CONTENDERS):
        report = {"width": arguments.width, "environment": environment("cpu"), "contenders": found}
        Path(__file__).with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
