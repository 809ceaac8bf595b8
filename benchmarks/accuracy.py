"""What correcting β in float64 is worth: its error against a solution that is float64 throughout, and its time.

The features are real ones, digits through a random ReLU layer, and made ones with condition numbers up to 1e10. For
each the ridge is the smallest that would be chosen, and a hundred times that. Statistics in float32 leave an error
of their own, which a factor in float64 shows: it has no other. usage: IF2NET_DATA=DIR python benchmarks/accuracy.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from if2net.decision.ridge import absolute_ridge, apply_inverse, factor, solve
from if2net.decision.ridge_choice import smallest_ridge
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import cholesky
from if2net.study.bench.results import environment
from if2net.study.data import load_dataset

WIDTH, SAMPLES, TESTED, CLASSES = 4096, 5000, 2000, 10
CONDITIONS = (1e3, 1e6, 1e10)
TIMED_WIDTHS, ROUNDS = (4096, 10_000), 3

Task = tuple[Tensor, Tensor, Tensor]  # features and classes to learn from, and features to predict
Way = Callable[[Tensor, Tensor, float], Tensor | None]


def digits(width: int) -> Task:
    """As of `benchmarks/learning.py`."""
    data = load_dataset("mnist")
    weights = torch.randn(data.train_X.shape[1], width, generator=torch.Generator().manual_seed(1))
    learned, tested = (
        torch.relu(torch.from_numpy(X) @ weights / weights.shape[0] ** 0.5)
        for X in (data.train_X[:SAMPLES], data.test_X[:TESTED])
    )
    return learned, torch.from_numpy(data.train_y[:SAMPLES]).long(), tested


def made(condition: float) -> Task:
    """Singular values that fall evenly from 1 to 1/condition, in random directions."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    values = torch.logspace(0, -torch.log10(torch.tensor(condition)).item(), WIDTH, dtype=torch.float64)
    V = (normal(SAMPLES + TESTED, WIDTH) * values) @ torch.linalg.qr(normal(WIDTH, WIDTH)).Q
    y = (V @ normal(WIDTH, CLASSES)).argmax(dim=1)
    return V[:SAMPLES].float(), y[:SAMPLES], V[SAMPLES:].float()


def counted(V: Tensor, y: Tensor, dtype: torch.dtype) -> Statistics:
    statistics = Statistics(V.shape[1], dtype)
    statistics.grow(CLASSES)
    for samples, labels in zip(V.split(512), y.split(512), strict=True):
        statistics.add(samples, labels)
    return statistics


def by_float32(G: Tensor, Q: Tensor, alpha: float) -> Tensor | None:
    lower = cholesky(G, alpha, torch.float32)
    return None if lower is None else apply_inverse(lower, Q)


def by_float64(G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    return apply_inverse(factor(G, alpha, torch.float64), Q)


WAYS: dict[str, Way] = {
    "factor in float32": by_float32,
    "factor in float32, corrected": solve,
    "factor in float64": by_float64,
}


def errors(beta: Tensor | None, exact: Tensor, tested: Tensor) -> dict[str, float] | None:
    if beta is None:
        return None
    scores, right = tested.double() @ beta.double(), tested.double() @ exact
    return {
        "beta": float((beta - exact).norm() / exact.norm()),
        "scores": float((scores - right).norm() / right.norm()),
        "equal_predictions": float((scores.argmax(1) == right.argmax(1)).double().mean()),
    }


def rows(name: str, task: Task) -> Iterator[dict[str, Any]]:
    V, y, tested = task
    kept = {dtype: counted(V, y, dtype) for dtype in (torch.float32, torch.float64)}
    least = smallest_ridge(kept[torch.float32].G)
    for ridge in (least, 100 * least):
        alpha = absolute_ridge(kept[torch.float64].G, ridge)
        system = V.double().T @ V.double()
        system.diagonal().add_(alpha)
        exact = torch.linalg.solve(system, kept[torch.float64].Q)
        for dtype, statistics in kept.items():
            found = {way: errors(by(statistics.G, statistics.Q, alpha), exact, tested) for way, by in WAYS.items()}
            yield {"features": name, "ridge": ridge, "statistics": str(dtype).removeprefix("torch."), "ways": found}


def shares(task: Task) -> dict[str, dict[str, float]]:
    """Each way's time as a share of that of a float64 factor, the median of a few rounds in turn."""
    found = {}
    for dtype in (torch.float32, torch.float64):
        statistics = counted(*task[:2], dtype)
        alpha = absolute_ridge(statistics.G, 1e-2)
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            for way, by in WAYS.items():
                start = time.perf_counter()
                by(statistics.G, statistics.Q, alpha)
                times[way].append(time.perf_counter() - start)
        whole = median(times["factor in float64"])
        found[str(dtype).removeprefix("torch.")] = {way: median(taken) / whole for way, taken in times.items()}
    return found


if __name__ == "__main__":
    tasks = {"digits": digits(WIDTH), **{f"condition {condition:.0e}": made(condition) for condition in CONDITIONS}}
    result = {
        "width": WIDTH,
        "environment": environment("cpu"),
        "errors": [row for name, task in tasks.items() for row in rows(name, task)],
        "share_of_the_time_of_a_float64_factor": {width: shares(digits(width)) for width in TIMED_WIDTHS},
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
