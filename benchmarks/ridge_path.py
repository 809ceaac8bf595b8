"""The path of ridges by a factorisation and by an eigendecomposition: which is faster at which width.

Both give the held-out errors of seven ridges; the ratio is that of the medians of a few rounds in turn.
usage: python benchmarks/ridge_path.py
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median

import torch

from if2net.decision.ridge import absolute_ridge
from if2net.decision.ridge_choice import EigenPath, RidgePath
from if2net.decision.statistics import Statistics
from if2net.study.bench.results import environment

WIDTHS = (32, 64, 128, 256, 512, 1024, 2048)
CLASSES, ROUNDS = 10, 7


def statistics(width: int) -> tuple[Statistics, Statistics]:
    """Of class centres with noise, to fit and held out."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(4 * width) % CLASSES
    noise = torch.randn(len(y), width, generator=generator)
    V = torch.relu(torch.randn(CLASSES, width, generator=generator)[y] + noise)
    parts = Statistics(width), Statistics(width)
    for place, part in enumerate(parts):
        part.grow(CLASSES)
        part.add(V[place::2], y[place::2])
    return parts


def ratio(width: int) -> float:
    """Seconds by an eigendecomposition, of those by a factorisation."""
    fitting, held = statistics(width)
    centre = absolute_ridge(fitting.G, 1e-2)
    times: dict[type, list[float]] = {RidgePath: [], EigenPath: []}
    for _ in range(ROUNDS):
        for way, taken in times.items():
            start = time.perf_counter()
            path = way(fitting, held, centre)
            for place in range(-3, 4):
                path.error(centre * 10 ** (place / 2))
            taken.append(time.perf_counter() - start)
    return median(times[EigenPath]) / median(times[RidgePath])


if __name__ == "__main__":
    found = {width: ratio(width) for width in WIDTHS}
    report = {"environment": environment("cpu"), "eigendecomposition_of_factorisation": found}
    Path(__file__).with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))
