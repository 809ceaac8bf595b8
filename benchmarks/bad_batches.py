"""Batches in wrong units and ordinary batches: which are refused, and the harm of the others to the old classes.

Bad batches: a model learns half of the classes, then the others with all values times a factor, at once or sample by
sample, or with one wrong column, row or value. `loss` is the lost accuracy on the old classes in points,
compared with the right batch. `loss_without_check` is the same with check_inputs=False.

Ordinary data: an encoder starts with the first classes and gets the others, in three class orders, one or two classes
at a time, in one batch or sample by sample. `size` is the largest relative size of a batch, and `refused` is the
number of refused batches. Fourth powers show when right samples are refused, too: some of their classes are a hundred
times as large as others.

Small starts: an encoder starts with a few random rows of a table, and gets others of the same table, one or a few at
a time. `refused` is the percentage of refused batches, by the number of first rows and of rows in a batch;
`refused_x_100` is the same for rows in wrong units. All of `refused` are false alarms.

Rare amounts: a model starts with five rows of old classes in which an amount is zero, and learns more of them. Then
it learns a new class in which the amount is not zero. `loss` is the lost accuracy on the old classes in points,
compared with a new class without amounts. `loss_without_clip` is the same with unclipped inputs and without the
check.

First batches: the accuracy on digits after a small first batch and a second one of all other samples, by the size of
the first batch. `as_they_are` is without the correction for small first batches.

usage: python benchmarks/bad_batches.py [--data DIR] [--out FILE]        DIR holds mnist/ and fashion-mnist/
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recording import options, record
from sklearn import datasets
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures

from if2net import IF2Net
from if2net.encoder import DenseEncoder, dense, encoder_config, standardise
from if2net.errors import SuspectInputError
from if2net.guards import TOO_LARGE, looks_usual, relative_size
from if2net.study.bench.environment import environment
from if2net.study.data.datasets import load_dataset

FACTORS = (1e2, 1e4, 1e6, 1e12)
ORDERS = 3
FIRST_SAMPLES = (1, 2, 5, 10, 20, 50, 100, 500)
SAMPLES = 6000  # of MNIST and FashionMNIST
FEW_SAMPLES = dense.FEW_SAMPLES
FIRST_ROWS, ROWS, STARTS = (1, 2, 5, 10, 20, 50), (1, 2, 5), 60
WIDE_CLIP = standardise.WIDE_CLIP

Data = tuple[np.ndarray, np.ndarray]
Table = Callable[[np.random.Generator, int], np.ndarray]


def encoder_for(X: np.ndarray) -> DenseEncoder:
    """Return an encoder that starts from these samples. It has no hidden layers, because no check uses them."""
    encoder = DenseEncoder(encoder_config("linear", X.shape[1]), seed=0)
    encoder.start(torch.from_numpy(X).float())
    return encoder


# ---------------------------------------------------------------------- bad batches


def bad_batches(X: np.ndarray) -> Iterator[tuple[str, np.ndarray, int]]:
    """Give each kind of mistake, its samples, and how many of them are learned at a time."""
    for factor in FACTORS:
        yield f"all values x {factor:g}", X * factor, len(X)
    yield f"all values x {FACTORS[0]:g}, sample by sample", X * FACTORS[0], 1
    column = X.copy()
    column[:, X.std(axis=0).argmax()] *= 1e6
    yield "one column x 1e+06", column, len(X)
    for name, place in (("a row", np.s_[len(X) // 2]), ("a value", np.s_[len(X) // 2, X.shape[1] // 2])):
        changed = X.copy()
        changed[place] = 1e9
        yield f"{name} of 1e+09", changed, len(X)


def harm(data: Data, **settings: Any) -> dict[str, dict[str, Any]]:
    """Return the loss of each bad batch for a model of these data."""
    X, y = data[0].astype(np.float64), data[1]
    test = np.arange(len(y)) % 4 == 0
    old = y < (y.max() + 1) // 2 + (y.max() + 1) % 2
    first, second = old & ~test, ~old & ~test

    def accuracy(samples: np.ndarray, at_a_time: int, *, check_inputs: bool) -> float:
        net = IF2Net(device="cpu", seed=0, check_inputs=check_inputs, **settings).learn(X[first], y[first])
        for start in range(0, len(samples), at_a_time):
            net.learn(samples[start : start + at_a_time], y[second][start : start + at_a_time])
        return 100 * float((net.predict(X[old & test]) == y[old & test]).mean())

    right, losses = accuracy(X[second], len(X), check_inputs=True), {}
    for name, samples, at_a_time in bad_batches(X[second]):
        losses[name] = {"loss_without_check": right - accuracy(samples, at_a_time, check_inputs=False)}
        try:
            losses[name]["loss"] = right - accuracy(samples, at_a_time, check_inputs=True)
        except SuspectInputError as error:
            losses[name]["refused"] = str(error)
    return losses


# ---------------------------------------------------------------------- ordinary data


def ordinary() -> Iterator[tuple[str, Data]]:
    """Yield data sets of scikit-learn, also in other forms: heavy tails, counts, rare values."""
    random = np.random.default_rng(0)
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, getattr(datasets, f"load_{name}")(return_X_y=True)
    for name in ("diabetes", "linnerud"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, (X, _levels(y[:, 0] if y.ndim > 1 else y, 4))
    for features, separation, scale in (
        (4, 1.0, 1.0),
        (20, 0.5, 1.0),
        (20, 5.0, 1.0),
        (100, 1.0, None),
        (20, 1.0, 1e4),
    ):
        settings = {"n_features": features, "class_sep": separation, "scale": scale, "n_classes": 4}
        name = f"classification, {features} features, separation {separation:g}, scale {scale or 'random'}"
        yield name, datasets.make_classification(2000, n_informative=4, n_redundant=0, random_state=0, **settings)
    for features, spread, box in ((2, 1.0, 10), (10, 0.1, 10), (50, 3.0, 10), (10, 1.0, 1000)):
        settings = {"n_features": features, "cluster_std": spread, "center_box": (-box, box), "centers": 10}
        name = f"blobs, {features} features, spread {spread:g}, box {box}"
        yield name, datasets.make_blobs(2000, random_state=0, **settings)
    yield "moons", datasets.make_moons(1000, noise=0.1, random_state=0)
    yield "circles", datasets.make_circles(1000, noise=0.05, factor=0.3, random_state=0)
    yield "gaussian quantiles", datasets.make_gaussian_quantiles(n_samples=2000, n_classes=5, random_state=0)
    yield "hastie", datasets.make_hastie_10_2(2000, random_state=0)
    for name in ("swiss_roll", "s_curve", "friedman1", "friedman2", "friedman3", "low_rank_matrix", "regression"):
        drawn = getattr(datasets, f"make_{name}")(1000, random_state=0)
        X, values = drawn if isinstance(drawn, tuple) else (drawn, drawn.sum(axis=1))
        yield name, (X, _levels(values, 5))
    X, marks = datasets.make_multilabel_classification(2000, n_classes=4, random_state=0)
    yield "counts of words", (X, marks.argmax(axis=1))
    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield f"{name}, squares and products", (PolynomialFeatures(2).fit_transform(X[:, :20]), y)
        steps = KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
        yield f"{name}, one column per fifth", (steps.fit_transform(X[:, X.std(axis=0) > 0]), y)
        scaled = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
        yield f"{name}, exponential", (np.exp(scaled), y)
        yield f"{name}, units at random", (X * 10 ** random.uniform(-6, 6, X.shape[1]), y)
        yield f"{name}, sparse counts", (random.poisson(0.02 * X / X.mean()), y)


def _levels(values: np.ndarray, count: int) -> np.ndarray:
    """Return the class of each value: `count` classes of equal size, in the order of the values."""
    return np.argsort(np.argsort(values)) * count // len(values)


def streams(data: Data) -> dict[str, float]:
    """Return the largest relative size of a batch in all streams, and the number of refused batches."""
    X, (_, y) = data[0], np.unique(data[1], return_inverse=True)
    classes, sizes, refused = y.max() + 1, [0.0], 0
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(classes) if seed else np.arange(classes)
        for together in (1, 2):
            tasks = [np.isin(y, order[start : start + together]) for start in range(0, classes, together)]
            encoder = encoder_for(X[tasks[0]])
            for task in tasks[1:]:
                samples = torch.from_numpy(X[task]).float()
                for part in (samples, *samples[:100].split(1)):
                    sizes.append(float(relative_size(part, encoder)))
                    refused += not looks_usual(part, encoder)
    return {"size": max(sizes), "refused": refused}


# ---------------------------------------------------------------------- small starts


def census(random: np.random.Generator, rows: int) -> np.ndarray:
    """Return the columns age, education, capital gain, which is rarely above zero, and hours."""
    gain = np.where(random.random(rows) < 0.08, random.lognormal(8.6, 1.0, rows), 0)
    hours = random.normal(40, 12, rows).round().clip(1, 99)
    return np.column_stack([random.integers(17, 90, rows), random.integers(1, 17, rows), gain, hours])


def two_amounts(random: np.random.Generator, rows: int) -> np.ndarray:
    X = random.normal(size=(rows, 8))
    X[:, 6:] = np.where(random.random((rows, 2)) < 0.1, random.lognormal(6, 1, (rows, 2)), 0)
    return X


def flags(random: np.random.Generator, rows: int) -> np.ndarray:
    X = (random.random((rows, 8)) < 0.3).astype(float)
    X[:, 7] = np.where(random.random(rows) < 0.05, random.lognormal(7, 1, rows), 0)
    return X


def incomes(random: np.random.Generator, rows: int) -> np.ndarray:
    kinds = np.eye(20)[random.integers(0, 20, rows)]
    return np.column_stack([kinds, random.integers(17, 90, rows), random.lognormal(10.5, 0.8, rows)])


def rows_of(name: str) -> Table:
    X = getattr(datasets, f"load_{name}")(return_X_y=True)[0]
    return lambda random, rows: X[random.integers(0, len(X), rows)]


TABLES: dict[str, Table] = {
    **{name: rows_of(name) for name in ("iris", "wine", "breast_cancer", "digits", "diabetes")},
    "census": census,
    "eight columns, two of them rare amounts": two_amounts,
    "flags and a rare amount": flags,
    "one-hot columns, age and income": incomes,
    "one column, uniform to the power of 5": lambda random, rows: random.uniform(-1, 1, (rows, 1)) ** 5,
    "one column, normal": lambda random, rows: random.normal(size=(rows, 1)),
    "one column, lognormal": lambda random, rows: random.lognormal(0, 1.5, (rows, 1)),
    "five columns, lognormal": lambda random, rows: random.lognormal(0, 1.5, (rows, 5)),
    "five columns, Zipf counts": lambda random, rows: random.zipf(2, (rows, 5)).clip(max=10**6).astype(float),
}


def alarms(table: Table, factor: float = 1.0) -> dict[str, dict[str, float]]:
    """Return the percentage of refused batches, by the number of first rows and of rows in a batch."""
    percentages: dict[str, dict[str, float]] = {}
    for first in FIRST_ROWS:
        refused = np.zeros((STARTS, len(ROWS)))
        for seed in range(STARTS):
            random = np.random.default_rng([seed, first])
            encoder = encoder_for(table(random, first))
            X = torch.from_numpy(factor * table(random, 20 * max(ROWS))).float()
            for place, rows in enumerate(ROWS):
                parts = X[: 20 * rows].split(rows)
                refused[seed, place] = 100 * np.mean([not looks_usual(part, encoder) for part in parts])
        percentages[str(first)] = dict(zip(map(str, ROWS), refused.mean(axis=0).tolist(), strict=True))
    return percentages


def rare_amounts(table: Table, amounts: list[int], **settings: Any) -> dict[str, float]:
    """Return the loss of the old classes through amounts in these columns: the mean of five draws."""
    accuracies: dict[str, list[float]] = {"without": [], "loss": [], "loss_without_clip": []}
    for seed in range(5):
        random = np.random.default_rng(seed)
        X = table(random, 2000)
        X[:, amounts] = 0
        y = 2 * (X[:, 0] > X[:, 0].mean()) + (X[:, 1] > X[:, 1].mean())
        poor, rich = table(random, 300), table(random, 300)
        poor[:, amounts] = 0
        rich[:, amounts] = random.lognormal(8.6, 1.0, (300, len(amounts)))
        for name, new in (("without", poor), ("loss", rich), ("loss_without_clip", rich)):
            standardise.WIDE_CLIP = float("inf") if name == "loss_without_clip" else WIDE_CLIP
            net = IF2Net(device="cpu", seed=seed, check_inputs=name == "loss", **settings)
            net.learn(X[:5], y[:5]).learn(X[5:1000], y[5:1000])
            for start in range(0, 300, 5):
                net.learn(new[start : start + 5], np.full(5, 4))
            accuracies[name].append(100 * float((net.predict(X[1000:]) == y[1000:]).mean()))
    standardise.WIDE_CLIP = WIDE_CLIP
    without, *others = (float(np.mean(values)) for values in accuracies.values())
    return dict(zip(("loss", "loss_without_clip"), (without - other for other in others), strict=True))


# ---------------------------------------------------------------------- first batches


def small_starts(data: Data, *, corrected: bool = True) -> dict[str, Any]:
    """Return the accuracy by the size of the first batch: the mean of ten draws."""
    dense.FEW_SAMPLES = FEW_SAMPLES if corrected else 0
    X, y = data
    test = np.arange(len(y)) % 4 == 0
    X, y, X_test, y_test = X[~test], y[~test], X[test], y[test]
    accuracies = {}
    for count in FIRST_SAMPLES:
        scores = []
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(len(y))
            net = IF2Net(device="cpu", seed=seed).learn(X[order[:count]], y[order[:count]])
            net.learn(X[order[count:]], y[order[count:]])
            scores.append(100 * float((net.predict(X_test) == y_test).mean()))
        accuracies[str(count)] = float(np.mean(scores))
    return accuracies


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--data", type=Path, help="folder that holds mnist/ and fashion-mnist/")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", "Bins whose width are too small")
    digits = datasets.load_digits(return_X_y=True)
    bad = {
        "digits": harm(digits),
        "digits, encoder linear": harm(digits, encoder="linear"),
        "digits, centred": harm((digits[0] - 8, digits[1])),
        "wine": harm(datasets.load_wine(return_X_y=True)),
        "breast_cancer": harm(datasets.load_breast_cancer(return_X_y=True)),
        "iris": harm(datasets.load_iris(return_X_y=True)),
    }
    data = dict(ordinary())
    for name in ("mnist", "fashion-mnist"):
        images = load_dataset(name, arguments.data)
        data[name] = (images.train_X[:SAMPLES], images.train_y[:SAMPLES])
    powers = {name: (X**4, y) for name, (X, y) in list(data.items())[:4]}
    report = {
        "environment": environment("cpu"),
        "bad_batches": bad,
        "limit": TOO_LARGE,
        "ordinary": {name: streams(one) for name, one in data.items()},
        "fourth_powers": {name: streams(one) for name, one in powers.items()},
        "small_starts": {
            name: {"refused": alarms(table), "refused_x_100": alarms(table, 100)} for name, table in TABLES.items()
        },
        "rare_amounts": {
            f"{name}, encoder {encoder}": rare_amounts(table, amounts, encoder=encoder)
            for name, table, amounts in (
                ("census", census, [2]),
                ("eight columns", two_amounts, [6, 7]),
                ("flags", flags, [7]),
            )
            for encoder in ("wide", "linear")
        },
        "first_batches_of_digits": small_starts(digits) | {"as_they_are": small_starts(digits, corrected=False)},
    }
    record(arguments.out, report)


if __name__ == "__main__":
    main()
