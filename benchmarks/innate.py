"""Pictures per second of the innate encoders on a CPU, and the time to learn FashionMNIST with the small one.

The rates are per second of processor time of one thread, so that other programs hardly change them; the time to learn
is that of the clock. The test pictures are read once, after learning.

usage: python benchmarks/innate.py [--threads 2] [--data FOLDER] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch

from if2net import IF2NetClassifier
from if2net.encoder.innate import weights
from if2net.files import write_text
from if2net.study.bench.environment import environment
from if2net.study.data import load_dataset

PICTURES, ROUNDS = 128, 5
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def rate(size: str, dtype: torch.dtype) -> float:
    """Return the pictures of 28×28 pixels per second of processor time of one thread."""
    torch.set_num_threads(1)
    network = weights.shipped(size, torch.device("cpu"))
    pictures, seconds = torch.rand(PICTURES, 1, 28, 28), []
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        for _ in range(ROUNDS + 1):
            start = time.process_time()
            network.rows(pictures)
            seconds.append(time.process_time() - start)
    return PICTURES / median(seconds[1:])


def learning(folder: Path | None, threads: int) -> dict[str, Any]:
    """Return the seconds from arrays to a model that has predicted, and its accuracy."""
    torch.set_num_threads(threads)
    data = load_dataset("fashion-mnist", folder)
    pictures, test = (X.reshape(-1, 28, 28) for X in (data.train_X, data.test_X))
    start, processor = time.perf_counter(), time.process_time()
    classifier = IF2NetClassifier(device="cpu", random_state=0).fit(pictures, data.train_y)
    classifier.predict(test[:1])
    seconds = {"seconds": time.perf_counter() - start, "processor_seconds": time.process_time() - processor}
    return {**seconds, "accuracy": classifier.score(test, data.test_y), "ridge": classifier.learner_.decision.ridge}


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
    result["fashion-mnist"] = learning(arguments.data, arguments.threads)
    print(result["fashion-mnist"])
    write_text(arguments.out, json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
