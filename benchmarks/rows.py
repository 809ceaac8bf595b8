"""Time from rows to the first prediction: `IF2NetClassifier` and RanPAC with its projection, in one run.

There are ten tasks of 5,000 rows and ten classes each. A row has 1,280 numbers, like the features of a backbone.
The clock runs from the rows of a task to the prediction of one row: encoding or projecting, counting, choosing the
ridge and solving. The first, second and tenth task are timed; the tasks between them are counted but not solved.
RanPAC does the same work for every task, so it learns two. Everything is measured in three rounds, since other
programs may share the processor; the medians are compared.

Memory that a virtual machine hands out for the first time is slow, which would count against the contender that runs
first. Some is therefore written and freed before each one.

A layer of IF2Net has the inputs and a constant as additional features. IF2Net is measured with 10,000 random
features, and with as many features in total as RanPAC.

usage: python benchmarks/rows.py [--width 10000] [--only NAME,...] [--out FILE]
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from learning import FITTED, RIDGES, Learner, parse_arguments, seconds, write_report
from learning import ranpac as ranpac_on_features
from torch import Tensor

from if2net import IF2NetClassifier, blas

ROWS, INPUTS, LATENT, CLASSES, TASKS = 5000, 1280, 64, 10, 10
TESTED = 500  # more rows of a task, which are not learned
TIMED = (1, 2, 10)
TOUCHED = 1 << 30  # numbers: 4 GB, more than a contender needs
ROUNDS = 3


def task(number: int) -> tuple[Tensor, Tensor]:
    """Return correlated, non-negative rows, like those of a backbone, and their classes."""
    mixing = np.random.default_rng(0).normal(size=(LATENT, INPUTS))
    random = np.random.default_rng(number)
    y = np.arange(ROWS + TESTED) % CLASSES
    latent = 0.5 * random.normal(size=(CLASSES, LATENT))[y] + random.normal(size=(len(y), LATENT))
    X = np.maximum(latent @ mixing / LATENT**0.5 + 0.5 * random.normal(size=(len(y), INPUTS)), 0)
    return torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y + CLASSES * (number - 1))


def ours(width: int) -> Learner:
    classifier = IF2NetClassifier(width=width, random_state=0, device="cpu")

    def facts() -> dict[str, float]:
        decision = classifier.learner_.decision
        return {"features": decision.width, "features_for_the_ridge": decision.held.width}

    return Learner(
        lambda X, y: classifier.partial_fit(X.numpy(), y.numpy()),
        lambda X: torch.from_numpy(classifier.decision_function(X.numpy())),
        facts=facts,
    )


def projected(
    make: Callable[[int, int], Learner],
    width: int,
    multiply: Callable[[Tensor, Tensor], Tensor] = torch.matmul,
) -> Learner:
    """Return a learner of features with RanPAC's projection before it."""
    weights: list[Tensor] = []

    def project(X: Tensor) -> Tensor:
        if not weights:
            weights.append(torch.randn(INPUTS, width, generator=torch.Generator().manual_seed(0)))
        return torch.relu(multiply(X, weights[0]))

    inner, last = make(width, TASKS * CLASSES), dict[str, Tensor]()

    def count(X: Tensor, y: Tensor) -> None:
        last["V"] = project(X)
        inner.count(last["V"], y)

    return Learner(
        count,
        lambda X: inner.scores(project(X)),
        lambda X, y: inner.solve(last["V"], y),
        lambda: {"features": width, "features_for_the_ridge": width},
    )


def ranpac(width: int, classes: int) -> Learner:
    """RanPAC as published, in float32: 17 solves on four fifths of the task to choose the ridge, then one on all."""
    G, Q = torch.zeros(width, width), torch.zeros(width, classes)
    state: dict[str, Tensor] = {}

    def count(V: Tensor, y: Tensor) -> None:
        Y = torch.nn.functional.one_hot(y, classes).float()
        G.add_(V.T @ V)
        Q.add_(V.T @ Y)

    def solve(V: Tensor, y: Tensor) -> None:
        Y = torch.nn.functional.one_hot(y, classes).float()
        cut = int(FITTED * len(V))
        G_part, Q_part = V[:cut].T @ V[:cut], V[:cut].T @ Y[:cut]
        errors = []
        for ridge in RIDGES:
            W = torch.linalg.solve(G_part + ridge * torch.eye(width), Q_part)
            errors.append(float((V[cut:] @ W - Y[cut:]).square().mean()))
        best = RIDGES[int(np.nanargmin(errors))]
        state["W"] = torch.linalg.solve(G + best * torch.eye(width), Q)

    return Learner(count, lambda V: V @ state["W"], solve)


PUBLISHED = "ranpac as published"


def contenders(width: int) -> dict[str, tuple[Callable[[], Learner], int]]:
    """Return name → the function that creates a contender, and the number of tasks that it learns."""
    equal = width - INPUTS - 1
    return {
        f"IF2NetClassifier(width={width})": (partial(ours, width), TASKS),
        f"IF2NetClassifier(width={equal})": (partial(ours, equal), TASKS),
        "ranpac in the best order": (partial(projected, ranpac_on_features, width, blas.product), 2),
        PUBLISHED: (partial(projected, ranpac, width), 2),
    }


def measure(learner: Learner, tasks: int) -> dict[str, Any]:
    """Return the seconds of each timed task, and the accuracy on rows of the first two that were not learned."""
    times, tested = {}, []
    torch.ones(TOUCHED)
    for number in range(1, tasks + 1):
        rows, classes = task(number)
        X, y = rows[:ROWS], classes[:ROWS]
        taken = seconds(lambda X=X, y=y: learner.count(X, y))
        if number in TIMED:
            taken += seconds(lambda X=X, y=y: (learner.solve(X, y), learner.scores(X[:1])))
            times[str(number)] = taken
        if number <= 2:
            tested.append((rows[ROWS:], classes[ROWS:]))
        if number == 2:
            right = torch.cat([learner.scores(rows).argmax(dim=1) == classes for rows, classes in tested])
    return {"seconds": times, "accuracy_after_two": float(right.float().mean()), **learner.facts()}


def medians(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first entry with the median of the seconds of each task, and the seconds of each round.

    All else is the same in every round.
    """
    each = {task: [entry["seconds"][task] for entry in rounds] for task in rounds[0]["seconds"]}
    return rounds[0] | {"seconds": {task: median(seconds) for task, seconds in each.items()}, "rounds": each}


def main() -> None:
    arguments = parse_arguments(__file__, __doc__)
    known = contenders(arguments.width)
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in arguments.only or known}
    for _ in range(ROUNDS):
        for name, entries in rounds.items():
            make, tasks = known[name]
            entries.append(measure(make(), tasks))
            print(name, json.dumps(entries[-1]), flush=True)
    write_report(arguments, {name: medians(entries) for name, entries in rounds.items()})


if __name__ == "__main__":
    main()
