"""ImageNet-sized features on one GPU: absolute seconds, and the share of the GPU's own float32 matrix product.

1.28 million samples of 2,048 features, 1,000 classes, one random layer 10,000 wide. The features are in host memory
when the clock starts. usage: python benchmarks/gpu.py [--samples 1280000]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from if2net import IF2Net

INPUTS, CLASSES, WIDTH, PIECE = 2048, 1000, 10_000, 65_536


def seconds(work: Callable[[], Any]) -> float:
    """Until the GPU has finished, too."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def product_rate() -> float:
    """Operations a second of a large float32 matrix product; the best of three, after a first one."""
    A, B = (torch.randn(8192, 8192, device="cuda") for _ in range(2))
    A @ B
    return 2 * 8192**3 / min(seconds(lambda: A @ B) for _ in range(3))


def features(samples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Class centres with noise, in host memory that the GPU can read from."""
    random = torch.Generator("cuda").manual_seed(0)
    centres = torch.randn(CLASSES, INPUTS, device="cuda", generator=random)
    X, y = torch.empty(samples, INPUTS, pin_memory=True), torch.arange(samples) % CLASSES
    for start in range(0, samples, PIECE):
        labels = y[start : start + PIECE].cuda()
        noise = torch.randn(len(labels), INPUTS, device="cuda", generator=random)
        X[start : start + PIECE] = (0.15 * centres[labels] + noise).cpu()
    return X, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_280_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    rate, (X, y) = product_rate(), features(arguments.samples)
    IF2Net(width=2000, device="cuda").learn(X[:5000], y[:5000].numpy()).predict(X[:5000])  # starts what starts once
    net = IF2Net(width=WIDTH, device="cuda", seed=0)
    learning = seconds(lambda: net.learn(X, y.numpy()))
    solving = seconds(lambda: net.decision.beta)
    few = X[:200_000]
    predicting = seconds(lambda: net.predict(few))
    width = net.encoder.width
    useful = arguments.samples * width**2 + 2 * arguments.samples * INPUTS * WIDTH + width**3 / 3
    report = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "samples": arguments.samples,
        "width": width,
        "product_teraflops": rate / 1e12,
        "learning_seconds": learning,
        "solving_seconds": solving,
        "share": useful / (learning + solving) / rate,
        "predictions_a_second": len(few) / predicting,
        "accuracy": float((net.predict(X[-20_000:]) == y[-20_000:].numpy()).mean()),
        "peak_gigabytes": torch.cuda.max_memory_allocated() / 1e9,
    }
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
