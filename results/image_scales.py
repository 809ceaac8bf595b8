"""Accuracy with image features on the scale of the first batch (`standardise=auto`) and without a scale.

The first batch may hold all classes or a single one, as it often does on the page of the live service. A model learns
the classes of each data set one at a time, ten at a time and all at once. It is tested on held-back training images;
no test image is read. `refused` counts the batches that the model refused because they seem to be in other units than
the first one. Novelty is not measured.

usage: python results/image_scales.py --images DIR [--orders 3] [--out FILE]
DIR holds CUB-200-2011/train/CLASS/* and CIFAR-100/train/CLASS/*.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from if2net import IF2Net
from if2net.errors import IF2NetError
from if2net.files import write_text
from if2net.images.extraction import extract
from if2net.images.extractor import load_extractor
from if2net.images.folders import class_folders
from if2net.study.bench.environment import environment

# Classes of each data set, images per class, and those of them that are held back.
CLASSES, PER_CLASS, HELD_BACK = 50, 30, 10
BACKBONES = ("efficientnet-lite0", "innate")
DATA = ("CUB-200-2011", "CIFAR-100")
BATCHES = {"one class at a time": 1, "ten classes at a time": 10, "all classes at once": CLASSES}
SCALES = ("auto", "none")

Data = tuple[np.ndarray, np.ndarray, np.ndarray]  # features, classes, and whether they are held back


def features(folder: Path, backbone: str) -> Data:
    """Return the features of some training images of the first classes."""
    folders = class_folders(folder / "train")
    names = sorted(folders)[:CLASSES]
    files = [(path, place) for place, name in enumerate(names) for path in folders[name][:PER_CLASS]]
    extracted = extract([path for path, _ in files], load_extractor(backbone))
    y = np.array([place for _, place in files])[extracted.kept]
    held_back = np.zeros(len(y), bool)
    for place in range(CLASSES):
        held_back[np.flatnonzero(y == place)[-HELD_BACK:]] = True
    return extracted.X, y, held_back


def measure(data: Data, size: int, order: np.ndarray, **settings: Any) -> dict[str, float]:
    """Return the accuracy on held-back images after all batches, in %, and the number of refused batches."""
    X, y, held_back = data
    net, refused = IF2Net(device="cpu", **settings), 0
    for start in range(0, CLASSES, size):
        some = np.isin(y, order[start : start + size]) & ~held_back
        try:
            net.learn(X[some], y[some])
        except IF2NetError:
            refused += 1
    right = np.array(net.predict(X[held_back])) == y[held_back]
    return {"accuracy": round(100 * float(right.mean()), 2), "refused": refused}


def cases(data: Data, orders: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for encoder in ("linear", "wide"):
        for name, size in BATCHES.items():
            for scale in SCALES:
                runs = []
                for seed in range(orders if encoder == "linear" else 1):
                    order = np.random.default_rng(seed).permutation(CLASSES)
                    runs.append(measure(data, size, order, encoder=encoder, standardise=scale, seed=seed))
                yield f"{encoder}, {name}, {scale}", {key: [run[key] for run in runs] for key in runs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "recipe" / "image-scales.json")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"classes": CLASSES, "images per class": {"learned": PER_CLASS - HELD_BACK}}
    report["images per class"]["held back"] = HELD_BACK
    report["environment"] = environment("cpu")
    for name in DATA:
        for backbone in BACKBONES:
            data = features(arguments.images / name, backbone)
            for case, accuracies in cases(data, arguments.orders):
                report.setdefault(f"{name}, {backbone}", {})[case] = accuracies
                print(name, backbone, case, accuracies, flush=True)
    write_text(arguments.out, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
