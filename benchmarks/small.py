"""Small and narrow data: accuracy and seconds of `IF2NetClassifier` with its defaults beside scaled linear models.

Small tables are those of scikit-learn, with stratified 5-fold cross-validation, repeated five times. Narrow data has
thousands of columns and few samples; it is drawn here with five seeds, with 1,000 samples to test on. `ahead` is the
lead of IF2NetClassifier in accuracy on the same splits, in points, and `ahead_std` its spread over the splits.

usage: python benchmarks/small.py [--only NAME,...] [--seeds 5] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from statistics import fmean, stdev
from time import perf_counter
from typing import Any

import numpy as np
from recording import parse_with_only, write
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from if2net import IF2NetClassifier
from if2net.study.bench.environment import environment

TESTED = 1000
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # train and test samples, train and test labels
CONTENDERS: dict[str, Callable[[int], Any]] = {
    "IF2NetClassifier": lambda seed: IF2NetClassifier(random_state=seed, device="cpu"),
    "scaled LogisticRegression": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    "scaled RidgeClassifier": lambda seed: make_pipeline(StandardScaler(), RidgeClassifier()),
}


def folds(load: Callable[..., Any]) -> Callable[[int], Iterator[Split]]:
    """Return the splits of a small table, given the number of repetitions."""

    def splits(seeds: int) -> Iterator[Split]:
        X, y = load(return_X_y=True)
        for train, test in RepeatedStratifiedKFold(n_splits=5, n_repeats=seeds, random_state=0).split(X, y):
            yield X[train], X[test], y[train], y[test]

    return splits


def drawn(draw: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]], samples: int) -> Any:
    """Return splits of data that are drawn again for each seed."""

    def splits(seeds: int) -> Iterator[Split]:
        for seed in range(seeds):
            X, y = draw(np.random.default_rng(seed), samples + TESTED)
            yield X[:samples], X[samples:], y[:samples], y[samples:]

    return splits


def blobs(random: np.random.Generator, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes that differ in 200 of 8,000 columns."""
    state = int(random.integers(2**31))
    return make_classification(samples, 8000, n_informative=200, n_redundant=200, class_sep=3.0, random_state=state)


def genes(random: np.random.Generator, samples: int, columns: int = 8000) -> tuple[np.ndarray, np.ndarray]:
    """Return log-normal expression in correlated groups of 40 genes; one gene in 50 differs between three classes."""
    y = random.integers(3, size=samples)
    pathways = random.normal(size=(samples, columns // 40)).repeat(40, axis=1)
    shifts = random.normal(size=(3, columns)) * (random.random(columns) < 0.02)
    level = random.normal(3, 1.5, columns)
    return np.exp(0.5 * (level + 0.7 * pathways + random.normal(size=(samples, columns)) + shifts[y])), y


def texts(random: np.random.Generator, samples: int, columns: int = 8000) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of 120 words per text, by Zipf's law; five classes differ in one word in ten."""
    y = random.integers(5, size=samples)
    common = 1 / np.arange(1, columns + 1)
    tilt = np.exp(random.normal(size=(5, columns)) * (random.random((5, columns)) < 0.1))
    shares = common * tilt / (common * tilt).sum(axis=1, keepdims=True)
    return np.array([random.multinomial(120, shares[label]) for label in y], dtype=float), y


DATA: dict[str, Callable[[int], Iterator[Split]]] = {
    "iris": folds(load_iris),
    "wine": folds(load_wine),
    "breast_cancer": folds(load_breast_cancer),
    "make_classification, 30 x 8,000": drawn(blobs, 30),
    "make_classification, 200 x 8,000": drawn(blobs, 200),
    "genes, 60 x 8,000": drawn(genes, 60),
    "genes, 200 x 20,000": drawn(lambda random, samples: genes(random, samples, 20_000), 200),
    "texts, 200 x 8,000": drawn(texts, 200),
    "texts, 1,000 x 30,000": drawn(lambda random, samples: texts(random, samples, 30_000), 1000),
}


def measure(splits: Callable[[int], Iterator[Split]], seeds: int) -> dict[str, dict[str, float]]:
    """Return the mean and spread of the accuracy, and the seconds to learn and to predict, of each contender."""
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in CONTENDERS}
    for number, (train_X, test_X, train_y, test_y) in enumerate(splits(seeds)):
        for name, make in CONTENDERS.items():
            model, start = make(number), perf_counter()
            right = model.fit(train_X, train_y).predict(test_X) == test_y
            measured[name].append((100 * float(right.mean()), perf_counter() - start))
    return {
        name: {
            "accuracy": fmean(accuracy for accuracy, _ in runs),
            "std": stdev(accuracy for accuracy, _ in runs),
            "seconds": fmean(seconds for _, seconds in runs),
            **(ahead(measured["IF2NetClassifier"], runs) if name != "IF2NetClassifier" else {}),
        }
        for name, runs in measured.items()
    }


def ahead(ours: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> dict[str, float]:
    """Return the mean and the spread of the difference in accuracy, split by split."""
    differences = [our - their for (our, _), (their, _) in zip(ours, theirs, strict=True)]
    return {"ahead": fmean(differences), "ahead_std": stdev(differences)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of data sets, separated by semicolons")
    parser.add_argument("--seeds", type=int, default=5, help="repetitions or seeds; at least 2")
    arguments = parse_with_only(parser, __file__)
    report = {}
    for name in arguments.only.split(";") if arguments.only else DATA:
        report[name] = measure(DATA[name], arguments.seeds)
        print(name, json.dumps(report[name]), flush=True)
    if arguments.out is not None:
        write(arguments.out, {"environment": environment("cpu"), "data": report})


if __name__ == "__main__":
    main()
