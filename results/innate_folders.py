"""Encoders for the features of the small innate network as rows, as `if2net learn --backbone innate` learns them.

Accuracy in percent on held-back training pictures, with mirror images. The classes come at once or in tasks, since
the wide layer takes its scale from the first task; each prediction is made after the last one. `size` is the size of
the model file in bytes.

usage: python results/innate_folders.py PICTURES DATA... [--fitted 20000] [--held 8000] [--device cpu] [--out FILE]
PICTURES is the folder of `results/innate.py`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from innate_widths import both_views
from row_files import record

from if2net.encoder.innate import weights
from if2net.learner import IF2Net

BLOCK = 1000
# Data set → numbers of tasks.
TASKS = {"fashion-mnist": (1, 5), "cifar10": (1, 5), "cifar100": (1, 10)}
ENCODERS = ("linear", "wide")


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    device, count = torch.device(arguments.device), arguments.fitted + arguments.held
    network = weights.shipped("small", device)
    for data in arguments.data:
        file = np.load(arguments.pictures / f"{data}.train.npz")
        some = np.random.default_rng(0).permutation(len(file["y"]))[:count]
        X, y = file["X"][some], file["y"][some].astype(int)
        parts = (both_views(network, X[first : first + BLOCK], device) for first in range(0, count, BLOCK))
        features = np.concatenate([part.mean(dim=1).cpu().numpy() for part in parts])
        fitted, held = slice(0, arguments.fitted), slice(arguments.fitted, None)
        classes = np.random.default_rng(0).permutation(int(y.max()) + 1)
        for tasks in TASKS[data]:
            for encoder in ENCODERS:
                net = IF2Net(encoder=encoder, device=arguments.device)
                for task in np.array_split(classes, tasks):
                    chosen = np.isin(y[fitted], task)
                    net.learn(features[fitted][chosen], y[fitted][chosen])
                right = net.predict(features[held]) == y[held]
                with tempfile.TemporaryDirectory() as folder:
                    net.save(Path(folder) / "model.if2")
                    size = (Path(folder) / "model.if2").stat().st_size
                accuracy = round(100 * float(right.mean()), 2)
                yield {"data": data, "encoder": encoder, "tasks": tasks, "accuracy": accuracy, "size": size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("data", nargs="+", choices=TASKS)
    parser.add_argument("--fitted", type=int, default=20_000)
    parser.add_argument("--held", type=int, default=8_000)
    parser.add_argument("--device", default="cpu")
    record(parser, "folders.jsonl", rows)


if __name__ == "__main__":
    main()
