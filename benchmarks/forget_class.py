"""Accuracy on the remaining classes of digits after forgetting classes with and without their samples, five seeds.

usage: python benchmarks/forget_class.py [--seeds 5] [--out FILE]
"""

import copy
import json
from statistics import fmean

import numpy as np
from recording import options, write
from sklearn.datasets import load_digits

from if2net import IF2Net
from if2net.study.bench.environment import environment

# One class at a time, or half of them.
FORGOTTEN = {"one class": [[digit] for digit in range(10)], "five classes": [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]}


def measure(seed: int, classes: list[int]) -> dict[str, float]:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[len(X) // 5 :], order[: len(X) // 5]
    net = IF2Net(seed=seed, device="cpu").learn(X[train], y[train])
    gone, others = train[np.isin(y[train], classes)], test[~np.isin(y[test], classes)]
    with_samples = copy.deepcopy(net).forget(X[gone], y[gone])
    for name in classes:
        net.forget_class(name)
    answers = {"with samples": with_samples.predict(X[others]), "without samples": net.predict(X[others])}
    return {how: float((predicted == y[others]).mean()) for how, predicted in answers.items()}


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    report = {}
    for name, cases in FORGOTTEN.items():
        runs = [measure(seed, classes) for seed in range(arguments.seeds) for classes in cases]
        report[name] = {how: fmean(run[how] for run in runs) for how in runs[0]}
        print(name, json.dumps(report[name]))
    write(arguments.out, {"environment": environment("cpu"), "forgotten": report})


if __name__ == "__main__":
    main()
