"""Time to choose the ridge by an eigendecomposition, relative to a factorisation, by width.

Both compute the held-out errors of seven ridges. Rounds alternate, and the ratio is that of the medians.

usage: python benchmarks/ridge_path.py [--widths 32,64,...] [--out FILE]
"""

from __future__ import annotations

import time
from statistics import median

import torch
from recording import options, record

from if2net.decision.ridge import absolute_ridge
from if2net.decision.ridge_choice import EigenPath, RidgePath
from if2net.decision.statistics import Statistics
from if2net.study.bench.environment import environment

WIDTHS = "32,64,128,256,512,1024,2048"
CLASSES, ROUNDS = 10, 7


def statistics(width: int) -> tuple[Statistics, Statistics]:
    """Return statistics of class centres with noise, to fit and held out."""
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
    """Return the time of an eigendecomposition relative to that of a factorisation."""
    fitting, held = statistics(width)
    centre = absolute_ridge(fitting.G, 1e-2)
    times: dict[type, list[float]] = {RidgePath: [], EigenPath: []}
    for _ in range(ROUNDS):
        for kind, seconds in times.items():
            start = time.perf_counter()
            path = kind(fitting, held, centre)
            for place in range(-3, 4):
                path.error(centre * 10 ** (place / 2))
            seconds.append(time.perf_counter() - start)
    return median(times[EigenPath]) / median(times[RidgePath])


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--widths", default=WIDTHS)
    arguments = parser.parse_args()
    ratios = {width: ratio(width) for width in map(int, arguments.widths.split(","))}
    report = {"environment": environment("cpu"), "eigendecomposition_of_factorisation": ratios}
    record(arguments.out, report)


if __name__ == "__main__":
    main()
