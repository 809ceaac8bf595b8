"""Few samples in a wide layer: seconds to solve β in the space of their rows and through a factor of G.

A learner has learned some samples, and one more comes. `row_space` and `factor` are the seconds until it predicts
again, by either way; `update` those for the next sample, which uses the factor. `row_space` and `update` are also
given relative to `factor`: these ratios decide on both numbers of features per direction in
`if2net/decision/row_space.py` and on WORTH_A_FACTOR in `if2net/decision/analytic.py`. Layers of more than 8,192
features choose the ridge on some of them. All are medians of three rounds.

usage: python benchmarks/few.py [--threads 2] [--out FILE]
"""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from recording import options, record

from if2net import IF2Net
from if2net.decision import analytic, row_space
from if2net.study.bench.environment import environment

WIDTHS, SAMPLES = (4096, 8192, 12_032), (100, 200, 400, 600, 800)
INPUTS, CLASSES, ROUNDS = 256, 10, 3


def seconds(width: int, samples: int, per_direction: int, worth: int) -> tuple[float, float]:
    """Return the seconds until a prediction after one more sample, and after the next one."""
    row_space.WIDTH_PER_DIRECTION = row_space.WIDTH_PER_DIRECTION_OF_THINNED = per_direction
    analytic.WORTH_A_FACTOR = worth
    random = np.random.default_rng(0)
    X, y = random.normal(size=(samples + 2, INPUTS)), random.integers(CLASSES, size=samples + 2)
    net = IF2Net(width=width, device="cpu").learn(X[:samples], y[:samples])
    net.predict(X[:1])
    taken = []
    for sample in (samples, samples + 1):
        start = perf_counter()
        net.learn(X[sample : sample + 1], y[sample : sample + 1])
        net.predict(X[:1])
        taken.append(perf_counter() - start)
    return taken[0], taken[1]


def measured(width: int, samples: int) -> dict[str, Any]:
    by_rows = median(seconds(width, samples, 1, 10**9)[0] for _ in range(ROUNDS))
    rounds = [seconds(width, samples, 10**9, 1) for _ in range(ROUNDS)]
    factor, update = (median(column) for column in zip(*rounds, strict=True))
    return {
        "width": width,
        "samples": samples,
        "seconds": {"row_space": by_rows, "factor": factor, "update": update},
        "times_factor": {"row_space": by_rows / factor, "update": update / factor},
    }


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = [measured(width, samples) for width in WIDTHS for samples in SAMPLES]
    record(arguments.out, {"environment": environment("cpu"), "threads": arguments.threads, "rows": rows})


if __name__ == "__main__":
    main()
