"""Training a small network on a GPU: plain steps, steps recorded as a CUDA graph, and steps through torch.compile.

Each method learns two tasks of 12,000 samples with 784 features, 1,000 steps per task, in each of these ways. The
seconds of a task include the recording or the compilation. The head is larger in the second task, so a graph must be
recorded again, and a step may have to be compiled again.

usage: python benchmarks/training_steps.py [--methods none,gem,bic] [--out FILE]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch
from recording import options, write
from torch import Tensor

from if2net.accelerate.cuda_graph import RecordedStep
from if2net.study.bench.environment import environment
from if2net.study.methods import METHODS

SAMPLES, FEATURES, STEPS, DEVICE = 12_000, 784, 1000, torch.device("cuda")
Step = Callable[[Tensor], None]


def compiled(plain: Step, mode: str) -> Step:
    """Return the compiled step. The compiler is reset, so that an earlier way does not warm it up."""
    torch._dynamo.reset()
    compiled_step: Step = torch.compile(plain, mode=mode)
    return compiled_step


WAYS: dict[str, Callable[[Step, int, torch.Generator | None], Step]] = {
    "plain": lambda plain, size, random: plain,
    "recorded": RecordedStep,
    "compiled": lambda plain, size, random: compiled(plain, "default"),
    "compiled, reduce-overhead": lambda plain, size, random: compiled(plain, "reduce-overhead"),
}


def tasks() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return two tasks of five classes each: class centres with noise."""
    random = np.random.default_rng(0)
    y = np.arange(SAMPLES) % 5
    centres = random.normal(size=(10, FEATURES)).astype(np.float32)
    noise = (random.normal(size=(SAMPLES, FEATURES)).astype(np.float32) for _ in range(2))
    return [(0.2 * centres[y + 5 * task] + rows, y + 5 * task) for task, rows in enumerate(noise)]


def seconds(name: str, way: str) -> dict[str, Any]:
    """Learn both tasks; return the seconds of each and the predictions for the second, or the error."""
    method = METHODS[name](FEATURES, 0, DEVICE, METHODS[name].Settings(steps=STEPS, epochs=1))

    def batch_step(step: Any, X: Tensor, y: Tensor, *, graph_safe: bool, size: int, random: Any) -> Step:
        return WAYS[way](lambda batch: step(X[batch], y[batch]), min(size, len(X)), random)

    times = []
    try:
        with mock.patch("if2net.study.methods.common.trainer.batch_step", batch_step):
            for X, y in tasks():
                torch.cuda.synchronize()
                start = time.perf_counter()
                method.learn(X, y)
                torch.cuda.synchronize()
                times.append(time.perf_counter() - start)
    except Exception as error:  # a compiler may refuse a step; that is a result, too
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    return {"seconds": times, "predicted": method.predict(tasks()[1][0])}


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--methods", default="none,gem,bic")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"environment": environment("cuda"), "steps": STEPS, "methods": {}}
    for name in arguments.methods.split(","):
        entries = report["methods"][name] = {}
        expected = seconds(name, "plain").get("predicted")  # also a warm-up of the libraries
        for way in WAYS:
            entry = entries[way] = seconds(name, way)
            if "predicted" in entry:
                entry["equal_predictions"] = float((entry.pop("predicted") == expected).mean())
            write(arguments.out, report)
            print(name, way, entry, flush=True)


if __name__ == "__main__":
    main()
