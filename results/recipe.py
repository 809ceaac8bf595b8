"""Choose the recipe of the pre-training on held-out classes, on training images of CIFAR-100; no test image is read.

The class order is that of the searches, which is never reported. Its last 40 classes are for pre-training, and its
first 6 are the first task. A ResNet-18 is trained on 30 of the 40 with each recipe. IF2Net then learns the other 10
and the first task from its features, and is tested on every fifth of their training images, which are held back. All
methods of the image benchmarks share the recipe.

usage: python results/recipe.py [--data DIR] [--epochs 30] [--device cuda] [--out results/recipe/trials.json]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from if2net import IF2Net
from if2net.images.backbones import file
from if2net.images.extractor import Extractor, Options
from if2net.images.read import Framing, read_image
from if2net.study.bench import hyperparameters
from if2net.study.bench.environment import environment
from if2net.study.bench.results import write_json
from if2net.study.bench.search import SEARCH_SEED
from if2net.study.data import load_images
from if2net.study.pretraining.training import Recipe, Training

DATASET, CLASSES, PRETRAINING, TRAINED, FIRST_TASK = "cifar100", 100, 40, 30, 6
HELD_BACK = 5  # every fifth image of a class
RECIPES = [
    Recipe(rotations=rotations, smoothing=smoothing, epochs=epochs)
    for rotations, smoothing, epochs in (
        (True, 0.0, 30),
        (False, 0.0, 30),
        (True, 0.1, 30),
        (False, 0.1, 30),
        (False, 0.0, 120),  # as many images as 30 epochs with rotations
    )
]
DEPTHS = ((4,), (3, 4), (2, 3, 4), (1, 2, 3, 4))
POOLS = (1, 2, 4)
SETTINGS = {key: value for _, key, value in hyperparameters.searched(["if2net"], DATASET, "agnostic")}


def roles() -> tuple[list[int], list[int]]:
    """Return the classes to train on and the classes to test with."""
    order = np.random.default_rng(SEARCH_SEED).permutation(CLASSES).tolist()
    held_out = order[-PRETRAINING:]
    return held_out[:TRAINED], [*held_out[TRAINED:], *order[:FIRST_TASK]]


def load(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Read the training images of all these classes."""
    files = load_images(DATASET, folder).train.of(sorted([*roles()[0], *roles()[1]]))
    return np.stack([read_image(path, Framing(32, 32)) for path in files.paths]), np.asarray(files.labels)


def trials(recipe: Recipe, pixels: np.ndarray, labels: np.ndarray, device: str) -> Iterator[dict[str, Any]]:
    """Train once with the recipe, and test every choice of depths and pooling."""
    trained, judged = roles()
    start = time.perf_counter()
    own = np.isin(labels, trained)
    training = Training(
        pixels[own], np.searchsorted(sorted(trained), labels[own]), TRAINED, recipe, torch.device(device)
    )
    for number in range(recipe.epochs):
        training.epoch(number)
    seconds = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "backbone.if2"
        facts = {"architecture": recipe.architecture, "dataset": DATASET, "classes": [str(name) for name in trained]}
        file.write(path, training.trunk, {**facts, "size": 32, "mean": training.mean, "scale": training.scale})
        backbone = file.read(path, device)
    others = np.isin(labels, judged)
    images, classes = pixels[others], labels[others]
    held_back = np.zeros(len(classes), dtype=bool)
    for name in judged:
        held_back[np.flatnonzero(classes == name)[::HELD_BACK]] = True
    for depths in DEPTHS:
        for pool in POOLS:
            extractor = Extractor(backbone, Options(depths, pool, flip=True), device)
            X = np.concatenate([extractor(part) for part in np.array_split(images, len(images) // 256 + 1)])
            net = IF2Net(**SETTINGS, device=device, seed=0)
            net.learn(X[~held_back], classes[~held_back])
            correct = net.predict(X[held_back]) == classes[held_back]
            yield {
                "rotations": recipe.rotations,
                "smoothing": recipe.smoothing,
                "epochs": recipe.epochs,
                "depths": list(depths),
                "pool": pool,
                "accuracy": float(correct.mean()),
                "judged": len(correct),
                "training_seconds": round(seconds, 1),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--epochs", type=int, help="for all recipes")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "recipe" / "trials.json")
    arguments = parser.parse_args()
    images, tried = load(arguments.data), list[dict[str, Any]]()
    for recipe in RECIPES:
        chosen = replace(recipe, epochs=arguments.epochs) if arguments.epochs else recipe
        for trial in trials(chosen, *images, arguments.device):
            tried.append(trial)
            print(trial, flush=True)
    best = max(tried, key=lambda trial: trial["accuracy"])
    head = {"environment": environment(arguments.device), "seed": SEARCH_SEED, "settings": SETTINGS}
    write_json(arguments.out, {**head, "tried": tried, "best": best})


if __name__ == "__main__":
    main()
