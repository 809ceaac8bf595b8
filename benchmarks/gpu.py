"""Learning ImageNet-sized features on one GPU: seconds, and the rate relative to bare matrix products.

The data are 1.28 million samples of 2,048 features in 1,000 classes, the model has one random layer of 10,000 nodes.
The features are in host memory when the clock starts. The useful work is one triangle of G, the responses and one
factorisation. `share` is its rate relative to a float32 product, and to a product of halves
(if2net/accelerate/products.py). `share_again` is the same when the data are learned a second time and the random
weights are drawn already.

usage: python benchmarks/gpu.py [--samples 1280000] [--out FILE]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from recording import options, record
from torch import Tensor

from if2net import IF2Net
from if2net.accelerate.products import Halves
from if2net.decision.symmetric import add_gram, add_gram_of_halves, symmetric, zeros
from if2net.samples import ROWS, Streamed
from if2net.study.bench.environment import environment

INPUTS, CLASSES, WIDTH, PIECE = 2048, 1000, 10_000, 65_536


def seconds(work: Callable[[], Any]) -> float:
    """Return the seconds until the GPU has finished the work."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def rate(operations: float, work: Callable[[], Any]) -> float:
    """Return operations per second: the best of three runs after a warm-up."""
    work()
    return operations / min(seconds(work) for _ in range(3))


def product_rates(V: Tensor) -> dict[str, float]:
    """Return the rates of a whole VᵀV for one block. The width is rounded down to 16, which is faster in float32."""
    V = V[:, : V.shape[1] // 16 * 16].contiguous()
    halves, operations = Halves(V, inner=0), 2 * len(V) * V.shape[1] ** 2
    return {
        "float32": rate(operations, lambda: V.T @ V),
        "halves": rate(operations, lambda: halves.gram(slice(0, V.shape[1]))),
    }


def gram_errors(V: Tensor) -> dict[str, float]:
    """Return the largest error of an entry of G against float64, relative to √(Gᵢᵢ Gⱼⱼ)."""
    exact = V.T.double() @ V.double()
    size = exact.diagonal().sqrt()
    plain, ours = (zeros(V.shape[1], torch.float32, "cuda") for _ in range(2))
    add_gram(plain, V, 1)
    add_gram_of_halves(ours, Halves(V, inner=0), 1)
    relative = {"float32": symmetric(plain), "halves": symmetric(ours)}
    return {name: float(((G - exact) / size / size[:, None]).abs().max()) for name, G in relative.items()}


def copying(X: Tensor) -> None:
    """Copy X to the GPU in the blocks of `learn`, without using it."""
    stream = Streamed(X, X.dtype, torch.device("cuda"), lambda block: torch.ones((), device="cuda").bool())
    for _ in stream.split(ROWS):
        pass


def features(samples: int) -> tuple[Tensor, Tensor]:
    """Return class centres with noise, in pinned host memory."""
    random = torch.Generator("cuda").manual_seed(0)
    centres = torch.randn(CLASSES, INPUTS, device="cuda", generator=random)
    X, y = torch.empty(samples, INPUTS, pin_memory=True), torch.arange(samples) % CLASSES
    for start in range(0, samples, PIECE):
        labels = y[start : start + PIECE].cuda()
        noise = torch.randn(len(labels), INPUTS, device="cuda", generator=random)
        X[start : start + PIECE] = (0.15 * centres[labels] + noise).cpu()
    return X, y


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--samples", type=int, default=1_280_000)
    arguments = parser.parse_args()
    X, y = features(arguments.samples)
    IF2Net(width=2000, device="cuda").learn(X[:40_000], y[:40_000].numpy()).predict(X[:40_000])  # warm-up
    torch.cuda.reset_peak_memory_stats()
    net = IF2Net(width=WIDTH, device="cuda", seed=0)
    learning = seconds(lambda: net.learn(X, y.numpy()))
    solving = seconds(lambda: net.decision.beta)
    peak = torch.cuda.max_memory_allocated()
    few = X[:200_000]
    predicting = median(seconds(lambda: net.predict(few)) for _ in range(5))
    V = net.represent(X[:ROWS])
    rates, width = product_rates(V), net.encoder.width
    counting = arguments.samples * width**2 + 2 * arguments.samples * INPUTS * WIDTH
    useful = counting + width**3 / 3
    correct = net.predict(X[-20_000:]) == y[-20_000:].numpy()
    again = seconds(lambda: net.learn(X, y.numpy()))
    report = {
        "device": torch.cuda.get_device_name(),
        "environment": environment("cuda"),
        "samples": arguments.samples,
        "width": width,
        "learning_seconds": learning,
        "solving_seconds": solving,
        "learning_again_seconds": again,
        "copying_seconds": seconds(lambda: copying(X)),
        "product_teraflops": {name: rate / 1e12 for name, rate in rates.items()},
        "share": {name: useful / (learning + solving) / rate for name, rate in rates.items()},
        "share_again": {name: counting / again / rate for name, rate in rates.items()},
        "error_of_gram": gram_errors(V),
        "predictions_a_second": len(few) / predicting,
        "accuracy": float(correct.mean()),
        "peak_gigabytes": peak / 1e9,
    }
    record(arguments.out, report)


if __name__ == "__main__":
    main()
