"""Time of the large products and of the Cholesky factor by the libraries that a CPU has for them, in float32.

Each library runs in its own process, since the threads of one slow down the other. A time is the best of three. The
error is that of VᵀV, relative to float64.

usage: python benchmarks/products.py [--width 10000] [--out FILE]
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import torch
from learning import seconds
from recording import options, record
from torch import Tensor

from if2net import blas, onednn
from if2net.study.bench.environment import environment

SAMPLES, INPUTS = 5000, 1280
BLOCK = 2048  # samples added at a time, as by a learner
COMPARED = 512  # features whose error is computed
RUNS = 3


class MKL:
    """Products and factors as torch computes them."""

    @staticmethod
    def multiplier(B: Tensor) -> Callable[[Tensor], Tensor]:
        return lambda A: A @ B

    @staticmethod
    def add_gram(G: Tensor, V: Tensor, sign: int) -> None:
        G.addmm_(V.T, V, alpha=sign)

    @staticmethod
    def factorise(L: Tensor) -> bool:
        L[:], failed = torch.linalg.cholesky_ex(L)
        return not failed


LIBRARIES = {"oneDNN": onednn, "SciPy's OpenBLAS": blas, "torch's MKL": MKL}


def measure(name: str, width: int) -> dict[str, float]:
    """Return the seconds of each operation, and the error of VᵀV."""
    onednn.is_fastest = lambda: False  # type: ignore[assignment]  # otherwise `blas` would use oneDNN
    library, random = LIBRARIES[name], torch.Generator().manual_seed(0)
    A, B = torch.randn(SAMPLES, INPUTS, generator=random), torch.randn(INPUTS, width, generator=random)
    multiply = library.multiplier(B)
    product = min(seconds(lambda: multiply(A)) for _ in range(RUNS))
    V, G = torch.relu(multiply(A)) / INPUTS**0.5, torch.zeros(width, width)

    def fill() -> None:
        G.zero_()
        for block in V.split(BLOCK):
            library.add_gram(G, block, 1)

    gram = min(seconds(fill) for _ in range(RUNS))
    exact = V[:, -COMPARED:].double().T @ V.double()
    rows = torch.arange(width)[-COMPARED:, None]
    error = torch.where(rows >= torch.arange(width), G[-COMPARED:] - exact, 0).norm() / exact.norm()
    G.diagonal().add_(float(G.diagonal().mean()))

    def factorise(L: Tensor) -> float:
        return seconds(lambda: library.factorise(L))

    factor = min(factorise(G.clone()) for _ in range(RUNS))
    return {"product": product, "gram": gram, "factor": factor, "error": float(error)}


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--width", type=int, default=10_000)
    arguments = parser.parse_args()
    libraries = {}
    for name in LIBRARIES:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            libraries[name] = process.submit(measure, name, arguments.width).result()
    report = {
        "width": arguments.width,
        "samples": SAMPLES,
        "inputs": INPUTS,
        "environment": environment("cpu"),
        "torch_uses": torch.backends.cpu.get_cpu_capability(),
        "openblas_kernels": onednn.openblas_kernels(),
        "libraries": libraries,
    }
    record(arguments.out, report)


if __name__ == "__main__":
    main()
