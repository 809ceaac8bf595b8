"""Time of learning a task and of predicting, compared with other methods on the same features.

Every contender runs in its own process, so that its peak memory can be measured, and learns the same two tasks:
MNIST, then FashionMNIST, each of the size of a task of CIFAR-100. The features are random ReLU responses, computed
before the clock starts. The reported times are those of the second task, and the median of five predictions of as
many samples. IF2Net is measured three times after each contender, and the median is compared.

A run of only some contenders is not written to the default file.

usage: IF2NET_DATA=DIR python benchmarks/learning.py [--width 10000] [--only NAME,...] [--out FILE]
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

from if2net.files import write_text
from if2net.study.bench.results import environment
from if2net.study.data import load_dataset

TASKS = ("mnist", "fashion-mnist")
SAMPLES, CLASSES = 5000, 10  # per task; as many samples again for testing
RIDGES = [10.0**power for power in range(-8, 9)]
REPEATS = 3

Learner = tuple[Callable[[torch.Tensor, torch.Tensor], None], Callable[[torch.Tensor], torch.Tensor]]


def make_features(folder: Path, width: int) -> None:
    """Write digits, then clothing, through one random ReLU layer, as one file per task and part."""
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
    """RanPAC in float32: 17 solves per task on four fifths of it to choose the ridge, then one on everything."""
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
    """ACIL's recursion of the inverse in float64, in batches of 1,000.

    The published code multiplies its matrices from left to right, which includes a product of two S × S matrices.
    The best order avoids that product. `published` selects the order.
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
    """SLDA: class means and one running covariance in float32, inverted after each task."""
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
    """RidgeClassifier of scikit-learn, fitted again to all data so far."""
    from sklearn.linear_model import RidgeClassifier

    model, seen = RidgeClassifier(alpha=1e3), []

    def learn(V: torch.Tensor, y: torch.Tensor) -> None:
        seen.append((V.numpy(), y.numpy()))
        model.fit(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))

    return learn, lambda V: torch.from_numpy(np.asarray(model.decision_function(V.numpy())))


def sgd_classifier(width: int, classes: int) -> Learner:
    """SGDClassifier.partial_fit of scikit-learn, one pass."""
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
    """Return the peak memory of this process in megabytes. (`getrusage` would include that of the parent.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(name: str, folder: Path, width: int, pipe: Any) -> None:
    """Learn all tasks; send the seconds per task, the accuracy on all of them, and the peak memory."""
    for library in ("if2net.learner", "scipy.linalg.blas", "sklearn.linear_model"):
        importlib.import_module(library)  # their time and memory do not count
    before = highest_memory()
    learn, scores = CONTENDERS[name](width, len(TASKS) * CLASSES)
    seconds = []
    for task in range(len(TASKS)):
        V, y = (torch.from_numpy(np.load(folder / f"train-{task}{end}.npy")) for end in ("", "-y"))
        start = time.perf_counter()
        learn(V, y)
        seconds.append(time.perf_counter() - start)
        del V  # only a contender that keeps features itself has those of more than one task in memory
    peak = highest_memory() - before
    V = torch.from_numpy(np.load(folder / "test-0.npy"))
    predicting = []
    for _ in range(6):
        start = time.perf_counter()
        scores(V).argmax(dim=1)
        predicting.append(time.perf_counter() - start)
    correct = [
        scores(torch.from_numpy(np.load(folder / f"test-{task}.npy"))).argmax(dim=1).numpy()
        == np.load(folder / f"test-{task}-y.npy")
        for task in range(len(TASKS))
    ]
    pipe.send(
        {
            "seconds": seconds,
            "seconds_to_predict": median(predicting[1:]),
            "accuracy": float(np.concatenate(correct).mean()),
            "peak_megabytes": peak,
        }
    )


def measured(name: str, folder: Path, width: int) -> dict[str, Any]:
    """Return what `measure` sends from a new process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=measure, args=(name, folder, width, there))
    process.start()
    result: dict[str, Any] = here.recv()
    process.join()
    return result


def compare(entry: dict[str, Any], ours: list[dict[str, Any]]) -> None:
    """Add the ratios to IF2Net measured directly afterwards, since the load of a shared machine changes."""
    entry["seconds_a_task"], entry["each_of_ours"] = entry["seconds"][-1], [run["seconds"][-1] for run in ours]
    entry["seconds_of_ours"] = median(entry["each_of_ours"])
    entry["times_ours"] = entry["seconds_a_task"] / entry["seconds_of_ours"]
    entry["times_ours_to_predict"] = entry["seconds_to_predict"] / median(run["seconds_to_predict"] for run in ours)


def line(name: str, entry: dict[str, Any]) -> str:
    return (
        f"{name:30} {entry['seconds_a_task']:8.2f} s per task ({entry['times_ours']:5.1f} × ours), "
        f"predicted in {entry['seconds_to_predict']:.3f} s ({entry['times_ours_to_predict']:.2f} × ours), "
        f"{100 * entry['accuracy']:.2f} %, {entry['peak_megabytes']:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=10_000)
    parser.add_argument("--only", help="names of contenders, separated by commas")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(CONTENDERS)
    entries = {}
    with tempfile.TemporaryDirectory() as folder:
        make_features(Path(folder), arguments.width)
        for name in names:
            entries[name] = measured(name, Path(folder), arguments.width)
            compare(entries[name], [measured("if2net", Path(folder), arguments.width) for _ in range(REPEATS)])
            print(line(name, entries[name]), flush=True)
    out = arguments.out or (None if arguments.only else Path(__file__).with_suffix(".json"))
    if out is not None:
        report = {"width": arguments.width, "environment": environment("cpu"), "contenders": entries}
        write_text(out, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
