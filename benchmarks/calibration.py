"""Expected calibration error of predict_proba after a stream of tasks, 5 seeds; writes benchmarks/calibration.json.

usage: IF2NET_DATA=DIR python benchmarks/calibration.py
"""

import json
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from if2net import IF2Net
from if2net.study.data import load_dataset, parse_scenario

SCENARIOS = ("digits-10/5", "mnist-10/5", "fashion-mnist-10/5")
SEEDS = range(5)
BINS = 15


def expected_calibration_error(probabilities: np.ndarray, truth: np.ndarray) -> float:
    """The mean gap between confidence and accuracy over 15 equal bins of confidence."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(confidence[bins == b].mean() - right[bins == b].mean()) * np.mean(bins == b) for b in np.unique(bins)]
    return float(sum(gaps))


def measure(name: str, seed: int) -> dict[str, float]:
    scenario = parse_scenario(name)
    _, tasks = scenario.stream(load_dataset(scenario.dataset), seed)
    net = IF2Net(seed=seed)
    for task in tasks:
        net.learn(task.train_X, task.train_y)
    X, y = (np.concatenate([getattr(task, part) for task in tasks]) for part in ("test_X", "test_y"))
    probabilities = net.probabilities(X).cpu().numpy()
    plain = net.scores(X).double().softmax(dim=1).cpu().numpy()
    return {
        "ece": expected_calibration_error(probabilities, y),
        "ece at temperature 1": expected_calibration_error(plain, y),
        "negative log likelihood": float(-np.log(probabilities[np.arange(len(y)), y]).mean()),
        "temperature": net.decision.temperature,
    }


def main() -> None:
    report = {}
    for name in SCENARIOS:
        runs = [measure(name, seed) for seed in SEEDS]
        report[name] = {
            key: {"mean": fmean(r[key] for r in runs), "std": stdev(r[key] for r in runs)} for key in runs[0]
        }
        print(name, json.dumps(report[name]))
    Path(__file__).with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
