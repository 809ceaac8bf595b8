"""Time of small models with as many threads as they are worth, relative to all threads, quiet and beside a load.

Each number is the median of the ratios of neighbouring runs: learn a table, predict it, and predict probabilities.
The load is one program per core: a busy loop, or torch, which multiplies matrices with all threads. Eigenvectors are
those of the spread of a wide layer's first data.

usage: python benchmarks/threads.py [--out FILE]
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import median

import torch
from recording import options, record
from sklearn.datasets import load_digits, load_iris

from if2net import IF2NetClassifier, blas, threads
from if2net.study.bench.environment import environment

ROUNDS = 5
INPUTS = 1280


def table(load: Callable) -> Callable[[], None]:
    X, y = load(return_X_y=True)

    def run() -> None:
        classifier = IF2NetClassifier(random_state=0, device="cpu").fit(X, y)
        classifier.predict(X)
        classifier.predict_proba(X)

    return run


def eigenvectors() -> None:
    matrix = torch.randn(INPUTS, INPUTS, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    blas.eigen(matrix + matrix.T)


def no_limit(operations: float, loops: int = 1) -> AbstractContextManager[None]:
    return nullcontext()


LIMIT = threads.enough_for
CASES = {"iris": table(load_iris), "digits": table(load_digits), "eigenvectors": eigenvectors}


LOADS = {
    "quiet": None,
    "busy": "while True: pass",
    "torch": "import torch; A = torch.rand(1000, 1000)\nwhile True: A @ A",
}


@contextmanager
def load(program: str | None) -> Iterator[None]:
    """Run this program in one process per core."""
    count = 0 if program is None else os.cpu_count() or 1
    busy = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(count)]
    try:
        time.sleep(10 * bool(count))  # until all have begun
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def seconds(case: Callable[[], None], limit: Callable[..., AbstractContextManager[None]]) -> float:
    threads.enough_for = limit
    start = time.perf_counter()
    case()
    return time.perf_counter() - start


def compared(case: Callable[[], None]) -> dict[str, float]:
    seconds(case, LIMIT)
    pairs = [(seconds(case, LIMIT), seconds(case, no_limit)) for _ in range(ROUNDS)]
    ours = median(own for own, _ in pairs)
    return {"seconds": ours, "of_all_threads": median(own / every for own, every in pairs)}


def main() -> None:
    out = options(__file__, __doc__).parse_args().out
    report = {"environment": environment("cpu"), "inputs": INPUTS}
    for name, program in LOADS.items():
        with load(program):
            report[name] = {case: compared(run) for case, run in CASES.items()}
    record(out, report)


if __name__ == "__main__":
    main()
