"""Time of learning a task and of predicting, compared with other methods on the same features.

Every contender runs in its own process, so that its peak memory can be measured. It learns the same two tasks, MNIST
and then FashionMNIST, each of the size of a task of CIFAR-100. The features are random ReLU responses, computed
before the clock starts. The reported times are that of the second task, and the median of five predictions of one
test set. A contender that can postpone the solution does not solve the first task. IF2Net is measured again after
each contender.

RanPAC is measured in its best order only; `benchmarks/rows.py` has its published recipe.

A run with --only is not written to the default file.

usage: IF2NET_DATA=DIR python benchmarks/learning.py [--width 10000] [--only NAME,...] [--out FILE]
"""

from __future__ import annotations

import argparse
import importlib
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from recording import parse_with_only, write
from torch import Tensor

from if2net.blas import product
from if2net.decision.ridge import apply_inverse
from if2net.decision.symmetric import add_gram, cholesky, zeros
from if2net.study.bench.environment import environment
from if2net.study.data import load_dataset

TASKS = ("mnist", "fashion-mnist")
SAMPLES, CLASSES = 5000, 10  # per task; as many samples again for testing
RIDGES = [10.0**power for power in range(-8, 9)]
FITTED = 0.8  # RanPAC chooses its ridge on the rest


@dataclass(frozen=True)
class Learner:
    """A contender: `count` adds a task to its state, `solve` makes it ready to predict."""

    count: Callable[[Tensor, Tensor], None]
    scores: Callable[[Tensor], Tensor]
    solve: Callable[[Tensor, Tensor], None] = lambda V, y: None
    facts: Callable[[], dict[str, float]] = dict  # more to report, computed after the clock has stopped


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

    def solve(V: Tensor, y: Tensor) -> None:
        _ = net.decision.beta

    return Learner(net.learn, net.scores, solve, lambda: {"features_for_the_ridge": net.decision.held.width})


def ranpac(width: int, classes: int) -> Learner:
    """RanPAC in float32 and in the best order: Cholesky factors instead of general solves.

    Its ridge is chosen on the current task alone, which has fewer samples than features. The 17 factors are
    therefore those of VVᵀ + αI, samples × samples. One factor of all features then gives β.
    """
    G, Q, state = zeros(width, torch.float32, "cpu"), torch.zeros(width, classes), {}

    def count(V: Tensor, y: Tensor) -> None:
        add_gram(G, V, 1)
        Q.index_add_(1, y, V.T)

    def solve(V: Tensor, y: Tensor) -> None:
        lower = cholesky(G, best_ridge(V, torch.nn.functional.one_hot(y, classes).float()), torch.float32)
        assert lower is not None
        state["W"] = apply_inverse(lower, Q)

    return Learner(count, lambda V: V @ state["W"], solve)


def best_ridge(V: Tensor, Y: Tensor) -> float:
    """Return the ridge of RanPAC's recipe: (VᵀV + αI)⁻¹VᵀY = Vᵀ(VVᵀ + αI)⁻¹Y."""
    cut = int(FITTED * len(V))
    kernel, held = product(V, V[:cut].T).split([cut, len(V) - cut])
    errors = []
    for ridge in RIDGES:
        lower, failed = torch.linalg.cholesky_ex(kernel + ridge * torch.eye(cut))
        scores = held @ torch.cholesky_solve(Y[:cut], lower)
        errors.append(math.nan if failed else float((scores - Y[cut:]).square().mean()))
    return RIDGES[int(np.nanargmin(errors))]


def acil(width: int, classes: int) -> Learner:
    """ACIL's recursion of the inverse in float64, in batches of 1,000 and in the best order.

    The published code multiplies its matrices from left to right, which includes a product of two S × S matrices for
    every batch. The difference is timed on one batch.
    """
    R, W = torch.eye(width, dtype=torch.float64) / 0.1, torch.zeros(width, classes, dtype=torch.float64)
    last: dict[str, Any] = {}

    def count(V: Tensor, y: Tensor) -> None:
        last["batches"] = 0
        for X, labels in zip(V.double().split(1000), y.split(1000), strict=True):
            Y = torch.nn.functional.one_hot(labels, classes).double()
            RX = R @ X.T
            K = torch.linalg.inv(torch.eye(len(X), dtype=torch.float64) + X @ RX)
            R.sub_(RX @ K @ RX.T)
            W.add_(R @ X.T @ (Y - X @ W))
            last.update(X=X, RX=RX, K=K, batches=last["batches"] + 1)

    def published() -> dict[str, float]:
        X, RX, K = last["X"], last["RX"], last["K"]
        more = seconds(lambda: RX @ K @ X @ R) - seconds(lambda: RX @ K @ RX.T)
        return {"more_seconds_as_published": last["batches"] * more}

    return Learner(count, lambda V: V.double() @ W, facts=published)


def slda(width: int, classes: int) -> Learner:
    """SLDA: class means and one running covariance in float32, inverted after each task."""
    Sigma, means, counts = torch.zeros(width, width), torch.zeros(classes, width), torch.zeros(classes)
    state: dict[str, Tensor] = {}

    def count(V: Tensor, y: Tensor) -> None:
        before = float(counts.sum())
        for label in y.unique().tolist():
            own = y == label
            means[label], counts[label] = V[own].mean(dim=0), own.sum()
        centred = V - means[y]
        Sigma.mul_(before / (before + len(V))).add_(centred.T @ centred, alpha=1 / (before + len(V)))

    def solve(V: Tensor, y: Tensor) -> None:
        state["W"] = torch.linalg.inv((1 - 1e-2) * Sigma + 1e-2 * torch.eye(width)) @ means.T

    def scores(V: Tensor) -> Tensor:
        return V @ state["W"] - (means.T * state["W"]).sum(dim=0) / 2

    return Learner(count, scores, solve)


def ridge_classifier(width: int, classes: int) -> Learner:
    """RidgeClassifier of scikit-learn, fitted again to all data so far."""
    from sklearn.linear_model import RidgeClassifier

    model, seen = RidgeClassifier(alpha=1e3), []

    def count(V: Tensor, y: Tensor) -> None:
        seen.append((V.numpy(), y.numpy()))

    def solve(V: Tensor, y: Tensor) -> None:
        model.fit(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))

    return Learner(count, lambda V: torch.from_numpy(np.asarray(model.decision_function(V.numpy()))), solve)


def sgd_classifier(width: int, classes: int) -> Learner:
    """SGDClassifier.partial_fit of scikit-learn, one pass."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(random_state=0)
    return Learner(
        lambda V, y: model.partial_fit(V.numpy(), y.numpy(), classes=np.arange(classes)),
        lambda V: torch.from_numpy(model.decision_function(V.numpy())),
    )


ACIL, ACIL_AS_PUBLISHED = "acil's recursion in the best order", "acil's recursion as published"
CONTENDERS = {
    "if2net": ours,
    "ranpac in the best order": ranpac,
    ACIL: acil,
    "slda": slda,
    "RidgeClassifier refitted": ridge_classifier,
    "SGDClassifier.partial_fit": sgd_classifier,
}


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def highest_memory() -> float:
    """Return the peak memory of this process in megabytes. (`getrusage` would include that of the parent.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(name: str, folder: Path, width: int, pipe: Any) -> None:
    """Learn all tasks; send the seconds of the last one, the accuracy on all of them, and the peak memory."""
    for library in ("if2net.learner", "scipy.linalg.blas", "sklearn.linear_model"):
        importlib.import_module(library)  # their time and memory do not count
    before = highest_memory()
    learner = CONTENDERS[name](width, len(TASKS) * CLASSES)
    for task in range(len(TASKS)):
        V, y = (torch.from_numpy(np.load(folder / f"train-{task}{end}.npy")) for end in ("", "-y"))
        taken = seconds(lambda V=V, y=y: learner.count(V, y))
        if task == len(TASKS) - 1:
            taken += seconds(lambda V=V, y=y: learner.solve(V, y))
        del V  # only a contender that keeps features has those of more than one task in memory
    peak = highest_memory() - before
    V = torch.from_numpy(np.load(folder / "test-0.npy"))
    predicting = [seconds(lambda: learner.scores(V).argmax(dim=1)) for _ in range(6)]
    correct = [
        learner.scores(torch.from_numpy(np.load(folder / f"test-{task}.npy"))).argmax(dim=1).numpy()
        == np.load(folder / f"test-{task}-y.npy")
        for task in range(len(TASKS))
    ]
    pipe.send(
        {
            "seconds_a_task": taken,
            "seconds_to_predict": median(predicting[1:]),
            "accuracy": float(np.concatenate(correct).mean()),
            "peak_megabytes": peak,
            **learner.facts(),
        }
    )


def measured(name: str, folder: Path, width: int) -> dict[str, Any]:
    """Return the results of `measure` in a new process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=measure, args=(name, folder, width, there))
    process.start()
    result: dict[str, Any] = here.recv()
    process.join()
    return result


def compare(entry: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Add the ratios to IF2Net, measured directly afterwards because the load of a shared machine changes."""
    return entry | {
        "seconds_of_ours": ours["seconds_a_task"],
        "times_ours": entry["seconds_a_task"] / ours["seconds_a_task"],
        "times_ours_to_predict": entry["seconds_to_predict"] / ours["seconds_to_predict"],
    }


def as_published(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of ACIL with the time of its published order."""
    return entry | {"seconds_a_task": entry["seconds_a_task"] + entry["more_seconds_as_published"]}


def line(name: str, entry: dict[str, Any]) -> str:
    return (
        f"{name:30} {entry['seconds_a_task']:8.2f} s per task ({entry['times_ours']:5.1f} × ours), "
        f"predicted in {entry['seconds_to_predict']:.3f} s ({entry['times_ours_to_predict']:.2f} × ours), "
        f"{100 * entry['accuracy']:.2f} %, {entry['peak_megabytes']:.0f} MB"
    )


def parse_arguments(script: str, description: str) -> argparse.Namespace:
    """Return the arguments of a comparison."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--width", type=int, default=10_000)
    parser.add_argument(
        "--only", type=lambda names: names.split(","), help="names of contenders, separated by commas"
    )
    return parse_with_only(parser, script)


def write_report(arguments: argparse.Namespace, entries: dict[str, Any]) -> None:
    if arguments.out is not None:
        report = {"width": arguments.width, "environment": environment("cpu"), "contenders": entries}
        write(arguments.out, report)


def main() -> None:
    arguments = parse_arguments(__file__, __doc__)
    entries = {}
    with tempfile.TemporaryDirectory() as folder:
        make_features(Path(folder), arguments.width)
        for name in arguments.only or CONTENDERS:
            entry = measured(name, Path(folder), arguments.width)
            ours_after = measured("if2net", Path(folder), arguments.width)
            entries[name] = compare(entry, ours_after)
            print(line(name, entries[name]), flush=True)
            if name == ACIL:
                entries[ACIL_AS_PUBLISHED] = compare(as_published(entry), ours_after)
                print(line(ACIL_AS_PUBLISHED, entries[ACIL_AS_PUBLISHED]), flush=True)
    write_report(arguments, entries)


if __name__ == "__main__":
    main()
