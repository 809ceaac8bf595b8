"""Classes of very different sizes: `class_weight="balanced"` beside scikit-learn's classifiers on scaled inputs.

Of the training samples, 90, 6, 2, 1 and 1 % belong to five classes. Half of the samples are for testing.

usage: python benchmarks/imbalance.py [--seeds 5] [--out FILE]
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

import numpy as np
from calibration import expected_calibration_error
from recording import options, write
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from if2net import IF2NetClassifier
from if2net.study.bench.environment import environment

SHARES = (0.90, 0.06, 0.02, 0.01, 0.01)
SEPARATIONS = (0.5, 1.0, 2.0)
CONTENDERS: dict[str, Callable[[int], Any]] = {
    "IF2NetClassifier": lambda seed: IF2NetClassifier(random_state=seed, device="cpu"),
    "IF2NetClassifier, balanced": lambda seed: IF2NetClassifier(
        class_weight="balanced", random_state=seed, device="cpu"
    ),
    "RidgeClassifier": lambda seed: make_pipeline(StandardScaler(), RidgeClassifier()),
    "RidgeClassifier, balanced": lambda seed: make_pipeline(
        StandardScaler(), RidgeClassifier(class_weight="balanced")
    ),
    "LogisticRegression, balanced": lambda seed: make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=2000)
    ),
}


def synthetic(separation: float) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Return 8,000 samples of 20 columns, ten of them informative, two clusters per class."""
    return lambda seed: make_classification(
        8000,
        20,
        n_informative=10,
        n_classes=5,
        weights=list(SHARES),
        class_sep=separation,
        flip_y=0.0,
        random_state=seed,
    )


def digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return five classes of two digits each, of decreasing size."""
    X, y = load_digits(return_X_y=True)
    random = np.random.default_rng(seed)
    label = y // 2  # five classes of two digits each
    sizes = np.array([350, 60, 40, 24, 16])
    chosen = [random.permutation(np.flatnonzero(label == place))[:size] for place, size in enumerate(sizes)]
    rows = random.permutation(np.concatenate(chosen))
    return X[rows], label[rows]


DATA: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {
    **{f"make_classification, class_sep={separation}": synthetic(separation) for separation in SEPARATIONS},
    "digits in pairs": digits,
}


def balanced_calibration(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the calibration error on test samples drawn so that all classes have the same share."""
    random, sizes = np.random.default_rng(0), np.bincount(y)
    rows = random.choice(len(y), 20_000, p=1 / sizes[y] / len(sizes))
    return expected_calibration_error(model.predict_proba(X[rows]), y[rows])


def measure(draw: Callable[[int], tuple[np.ndarray, np.ndarray]], seeds: int) -> dict[str, dict[str, float]]:
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    for seed in range(seeds):
        X, y = draw(seed)
        train_X, test_X, train_y, test_y = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        for name, make in CONTENDERS.items():
            model = make(seed).fit(train_X, train_y)
            predicted = model.predict(test_X)
            one = {
                "balanced_accuracy": 100 * float(balanced_accuracy_score(test_y, predicted)),
                "accuracy": 100 * float((predicted == test_y).mean()),
            }
            if hasattr(model, "predict_proba") and "balanced" in name:
                one["balanced_ece"] = balanced_calibration(model, test_X, test_y)
            measured[name].append(one)
    return {
        name: {key: fmean(run[key] for run in runs) for key in runs[0]}
        | {"balanced_accuracy_std": stdev(run["balanced_accuracy"] for run in runs)}
        for name, runs in measured.items()
    }


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds; at least 2")
    arguments = parser.parse_args()
    report = {}
    for name, draw in DATA.items():
        report[name] = measure(draw, arguments.seeds)
        print(name, *(f"  {contender}: {row}" for contender, row in report[name].items()), sep="\n", flush=True)
    write(arguments.out, {"environment": environment("cpu"), "data": report})


if __name__ == "__main__":
    main()
