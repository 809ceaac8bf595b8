"""Accuracy and time of solving β with and without corrections in float64.

Errors are relative to a solution entirely in float64. The features are digits through a random ReLU layer, and
synthetic ones with condition numbers up to 1e10. The ridges are the smallest possible one and a hundred times that.
With statistics in float32, a factor in float64 has only the error of the statistics.

usage: IF2NET_DATA=DIR python benchmarks/accuracy.py [--width 4096] [--timed 4096,10000] [--out FILE]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch
from recording import options, record
from torch import Tensor

from if2net.decision.ridge import absolute_ridge, apply_inverse, factor, solve
from if2net.decision.ridge_choice import smallest_ridge
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import cholesky
from if2net.study.bench.environment import environment
from if2net.study.data import load_dataset

SAMPLES, TESTED, CLASSES = 5000, 2000, 10
CONDITIONS = (1e3, 1e6, 1e10)
ROUNDS = 2

Task = tuple[Tensor, Tensor, Tensor]  # features and classes to learn from, and features to predict
Solver = Callable[[Tensor, Tensor, float], Tensor | None]


def digits(width: int) -> Task:
    """Return digits through a random ReLU layer, as in `benchmarks/learning.py`."""
    data = load_dataset("mnist")
    weights = torch.randn(data.train_X.shape[1], width, generator=torch.Generator().manual_seed(1))
    learned, tested = (
        torch.relu(torch.from_numpy(X) @ weights / weights.shape[0] ** 0.5)
        for X in (data.train_X[:SAMPLES], data.test_X[:TESTED])
    )
    return learned, torch.from_numpy(data.train_y[:SAMPLES]).long(), tested


def synthetic(condition: float, width: int) -> Task:
    """Return features with random directions and singular values that fall evenly from 1 to 1/condition."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    values = torch.logspace(0, -torch.log10(torch.tensor(condition)).item(), width, dtype=torch.float64)
    V = (normal(SAMPLES + TESTED, width) * values) @ torch.linalg.qr(normal(width, width)).Q
    y = (V @ normal(width, CLASSES)).argmax(dim=1)
    return V[:SAMPLES].float(), y[:SAMPLES], V[SAMPLES:].float()


def counted(V: Tensor, y: Tensor, dtype: torch.dtype) -> Statistics:
    statistics = Statistics(V.shape[1], dtype)
    statistics.grow(CLASSES)
    for samples, labels in zip(V.split(512), y.split(512), strict=True):
        statistics.add(samples, labels)
    return statistics


def solve_in_float32(G: Tensor, Q: Tensor, alpha: float) -> Tensor | None:
    lower = cholesky(G, alpha, torch.float32)
    return None if lower is None else apply_inverse(lower, Q)


def solve_in_float64(G: Tensor, Q: Tensor, alpha: float) -> Tensor:
    return apply_inverse(factor(G, alpha, torch.float64), Q)


SOLVERS: dict[str, Solver] = {
    "factor in float32": solve_in_float32,
    "factor in float32, corrected": solve,
    "factor in float64": solve_in_float64,
}


def errors(beta: Tensor | None, exact: Tensor, tested: Tensor) -> dict[str, float] | None:
    if beta is None:
        return None
    scores, exact_scores = tested.double() @ beta.double(), tested.double() @ exact
    return {
        "beta": float((beta - exact).norm() / exact.norm()),
        "scores": float((scores - exact_scores).norm() / exact_scores.norm()),
        "equal_predictions": float((scores.argmax(1) == exact_scores.argmax(1)).double().mean()),
    }


def rows(name: str, task: Task) -> Iterator[dict[str, Any]]:
    V, y, tested = task
    by_precision = {dtype: counted(V, y, dtype) for dtype in (torch.float32, torch.float64)}
    smallest = smallest_ridge(by_precision[torch.float32].G)
    for ridge in (smallest, 100 * smallest):
        alpha = absolute_ridge(by_precision[torch.float64].G, ridge)
        system = V.double().T @ V.double()
        system.diagonal().add_(alpha)
        exact = torch.linalg.solve(system, by_precision[torch.float64].Q)
        for dtype, statistics in by_precision.items():
            yield {
                "features": name,
                "ridge": ridge,
                "statistics": str(dtype).removeprefix("torch."),
                "ways": {
                    way: errors(solver(statistics.G, statistics.Q, alpha), exact, tested)
                    for way, solver in SOLVERS.items()
                },
            }


def shares(task: Task) -> dict[str, dict[str, float]]:
    """Return the time of each solver as a share of that of a float64 factor. Rounds alternate; medians count."""
    result = {}
    for dtype in (torch.float32, torch.float64):
        statistics = counted(*task[:2], dtype)
        alpha = absolute_ridge(statistics.G, 1e-2)
        times: dict[str, list[float]] = {way: [] for way in SOLVERS}
        for _ in range(ROUNDS):
            for way, solver in SOLVERS.items():
                start = time.perf_counter()
                solver(statistics.G, statistics.Q, alpha)
                times[way].append(time.perf_counter() - start)
        whole = median(times["factor in float64"])
        result[str(dtype).removeprefix("torch.")] = {way: median(seconds) / whole for way, seconds in times.items()}
    return result


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--timed", default="4096,10000", help="widths at which the solvers are timed")
    arguments = parser.parse_args()
    width = arguments.width
    tasks = {
        "digits": digits(width),
        **{f"condition {condition:.0e}": synthetic(condition, width) for condition in CONDITIONS},
    }
    report = {
        "width": width,
        "environment": environment("cpu"),
        "errors": [row for name, task in tasks.items() for row in rows(name, task)],
        "share_of_the_time_of_a_float64_factor": {
            timed: shares(digits(timed)) for timed in map(int, arguments.timed.split(","))
        },
    }
    record(arguments.out, report)


if __name__ == "__main__":
    main()
