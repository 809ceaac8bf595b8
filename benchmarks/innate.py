"""Pictures per second of the innate encoders on a CPU, and the time to learn FashionMNIST with the small one.

The small encoder is measured with its default nodes, with about half of them, and with as many as the large one has.
With the last it learns FashionMNIST with mirror images. All rates are without mirror images.

The rates are per second of processor time of one thread, which other programs change less than times by the clock.
The rate of the small encoder with all threads and the time to learn are also measured by the wall clock, which needs
a quiet machine. The test pictures are read once, after learning.

usage: python benchmarks/innate.py [--threads 2] [--data FOLDER] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from if2net import IF2NetClassifier
from if2net.encoder import INNATE, InnateConfig, InnateEncoder
from if2net.encoder.innate import weights
from if2net.encoder.innate.encoder import SIDE
from if2net.files import write_text
from if2net.study.bench.environment import environment
from if2net.study.data import load_dataset

PICTURES, ROUNDS = 128, 5
# Settings of the small encoder: its defaults, its former number of nodes, and as many as the large encoder has.
SETTINGS: dict[str, dict[str, Any]] = {
    "": {},
    ", 4,352 nodes": {"width": 4352},
    ", 16,384 nodes": {"width": 16_384, "config": {"flips": True}},
}
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def rate(size: str, dtype: torch.dtype) -> float:
    """Return the pictures of 32×32 pixels that a network takes per second of processor time of one thread."""
    network, pictures = weights.shipped(size, torch.device("cpu")), torch.rand(PICTURES, 1, SIDE, SIDE)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        return per_second(network.rows, pictures)


def encoding_rate(
    name: str, threads: int = 1, clock: Callable[[], float] = time.process_time, nodes: int | None = None
) -> float:
    """Return the same for an encoder with its random nodes, in float32 and without mirror images.

    Its pictures have 28×28 pixels, and it resizes them to 32×32.
    """
    pictures, encoder = torch.rand(PICTURES, 784), InnateEncoder(InnateConfig.of(name, (28, 28, 1), None, nodes))
    encoder.start(pictures)
    return per_second(encoder.encoding([]), pictures, threads, clock)


def per_second(
    function: Callable[[Tensor], Tensor],
    pictures: Tensor,
    threads: int = 1,
    clock: Callable[[], float] = time.process_time,
) -> float:
    torch.set_num_threads(threads)
    seconds = []
    for _ in range(ROUNDS + 1):
        start = clock()
        function(pictures)
        seconds.append(clock() - start)
    return PICTURES / median(seconds[1:])


def learning(folder: Path | None, threads: int, **settings: Any) -> dict[str, Any]:
    """Return the seconds from files to a model that has predicted, its accuracy and the size of its file."""
    torch.set_num_threads(threads)
    start, processor = time.perf_counter(), time.process_time()
    data = load_dataset("fashion-mnist", folder)
    pictures, test = (X.reshape(-1, 28, 28) for X in (data.train_X, data.test_X))
    classifier = IF2NetClassifier(device="cpu", random_state=0, **settings).fit(pictures, data.train_y)
    classifier.predict(test[:1])
    seconds = {"seconds": time.perf_counter() - start, "processor_seconds": time.process_time() - processor}
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "model.if2"
        classifier.save(path)
        facts = {"bytes": path.stat().st_size, "ridge": classifier.learner_.decision.ridge}
    return {**seconds, **facts, "accuracy": classifier.score(test, data.test_y)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    result: dict[str, Any] = {"environment": environment("cpu"), "threads": arguments.threads, "per_second": {}}
    for size in weights.HASHES:
        for name, dtype in TYPES.items():
            result["per_second"][f"{size} {name}"] = round(rate(size, dtype))
            print(size, name, result["per_second"][f"{size} {name}"], flush=True)
    for name, size in INNATE.items():
        result["per_second"][f"{size} with nodes"] = round(encoding_rate(name))
        print(size, "with nodes", result["per_second"][f"{size} with nodes"], flush=True)
    by_the_clock = result["by_the_clock"] = {}
    for label, settings in SETTINGS.items():
        speed = encoding_rate("innate", arguments.threads, time.perf_counter, settings.get("width"))
        by_the_clock[f"small{label}"] = round(speed)
        print(f"small{label}, {arguments.threads} threads, by the clock", by_the_clock[f"small{label}"], flush=True)
    for label, settings in SETTINGS.items():
        result[f"fashion-mnist{label}"] = learning(arguments.data, arguments.threads, **settings)
        print(f"fashion-mnist{label}", result[f"fashion-mnist{label}"], flush=True)
    write_text(arguments.out, json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
