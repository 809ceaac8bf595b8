"""The rate of learning relative to a float32 matrix product, and the growth of the cost of learning.

The useful work is that of one triangle: N·S² operations to fill G, and S³/3 to factorise it. All ratios are of times
in the same run.

usage: python benchmarks/limits.py [--width 10000] [--out FILE]
"""

from __future__ import annotations

from typing import Any

import torch
from learning import seconds
from recording import options, record

from if2net import IF2Net
from if2net.blas import product
from if2net.decision.ridge import factor
from if2net.study.bench.environment import environment

SAMPLES, CLASSES, INPUTS = 5000, 10, 256
LONG, FEATURES = 300, 1000  # tasks and features of the long sequences


def product_rate() -> float:
    """Return operations per second of a large float32 matrix product by the learner's library: the best of three."""
    A, B = torch.randn(4096, 4096), torch.randn(4096, 4096)
    return 2 * 4096**3 / min(seconds(lambda: product(A, B)) for _ in range(3))


class Data:
    """Random ReLU features of class centres with noise."""

    def __init__(self, width: int) -> None:
        self.random = torch.Generator().manual_seed(0)
        self.weights = torch.randn(INPUTS, width, generator=self.random) / INPUTS**0.5

    def task(self, samples: int, classes: int = CLASSES, first: int = 0) -> tuple[torch.Tensor, Any]:
        y = torch.arange(samples) % classes
        centres = torch.randn(classes, INPUTS, generator=torch.Generator().manual_seed(first))
        noise = torch.randn(samples, INPUTS, generator=self.random)
        return torch.relu((centres[y] + noise) @ self.weights), (y + first).numpy()


def learner() -> IF2Net:
    """Return a learner that uses the features without change."""
    return IF2Net(encoder="linear", standardise="none", device="cpu", seed=0)


def learn(net: IF2Net, task: tuple[torch.Tensor, Any]) -> float:
    """Return the seconds until the task is learned and β is solved."""
    return seconds(lambda: (net.learn(*task), net.decision.beta))


def shares(width: int) -> dict[str, float]:
    """Return useful operations per second, relative to the matrix product."""
    data, net, rate = Data(width), learner(), product_rate()
    learn(net, data.task(SAMPLES))
    task = data.task(SAMPLES, first=CLASSES)
    whole = learn(net, task)
    statistics, (V, y) = net.decision.total, task
    filling = seconds(lambda: [statistics.add(part, labels) for part, labels in pieces(net, V, y)])
    useful = {"fill": SAMPLES * width**2, "factorise": width**3 / 3}
    return {
        "product_gigaflops": rate / 1e9,
        "filling_share": useful["fill"] / filling / rate,
        "learning_share": sum(useful.values()) / whole / rate,
    }


def pieces(net: IF2Net, V: torch.Tensor, y: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
    columns, encoded = torch.from_numpy(net.labels.columns(y)), net.represent(V)
    return list(zip(encoded.split(512), columns.split(512), strict=True))


def one_sample(width: int) -> dict[str, float]:
    """Return the time to learn one sample and predict, relative to a factorisation."""
    data, net = Data(width), learner()
    net.learn(*data.task(SAMPLES))
    times = []
    for _ in range(8):
        task = data.task(1)
        times.append(seconds(lambda task=task: (net.learn(*task), net.predict(task[0]))))
    factorisation = min(seconds(lambda: factor(net.decision.total.G, 1.0)) for _ in range(2))
    median = sorted(times[2:])[3]  # the first two compute the factor that the others use
    return {"seconds": median, "factorisation_seconds": factorisation, "share": median / factorisation}


def growth() -> dict[str, dict[str, float]]:
    """Return seconds per task, relative to the first entry of each row."""
    rows = {
        "samples": {str(count): learn(learner(), Data(2000).task(count)) for count in (2000, 8000, 32000)},
        "width": {str(width): learn(learner(), Data(width).task(2000)) for width in (1000, 2000, 4000, 8000)},
        "classes": {str(count): learn(learner(), Data(2000).task(4000, count)) for count in (10, 100, 1000)},
        "tasks": by_task(samples=2 * FEATURES),
        "small_tasks": by_task(samples=FEATURES // 10),
    }
    return {name: {key: value / next(iter(row.values())) for key, value in row.items()} for name, row in rows.items()}


def by_task(samples: int) -> dict[str, float]:
    """Return the time of the 2nd, 10th, 100th and last task of ten recurring classes: the median of nine tasks each.

    While there are fewer samples than features, the ridge is harder to choose, and a task takes longer.
    """
    data, net = Data(FEATURES), learner()
    times = [learn(net, data.task(samples)) for _ in range(LONG + 10)]
    return {str(place): sorted(times[place - 1 : place + 8])[4] for place in (2, 10, 100, LONG)}


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--width", type=int, default=10_000)
    arguments = parser.parse_args()
    width = arguments.width
    report = {
        "width": width,
        "environment": environment("cpu"),
        "shares": shares(width),
        "one_sample": one_sample(width),
        "features_of_the_long_sequences": FEATURES,
        "growth": growth(),
    }
    record(arguments.out, report)


if __name__ == "__main__":
    main()
