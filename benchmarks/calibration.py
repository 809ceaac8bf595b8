"""Expected calibration error of the probabilities after a stream of tasks, over five seeds.

usage: IF2NET_DATA=DIR python benchmarks/calibration.py [--scenarios NAME,...] [--seeds 5] [--out FILE]
"""

import json
from statistics import fmean, stdev

import numpy as np
from recording import options, write

from if2net import IF2Net
from if2net.study.bench.environment import environment
from if2net.study.data import load_dataset, parse_scenario

SCENARIOS = "digits-10/5,mnist-10/5,fashion-mnist-10/5"
BINS = 15


def expected_calibration_error(probabilities: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean gap between confidence and accuracy over 15 equal bins of confidence."""
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [
        abs(confidence[bins == b].mean() - correct[bins == b].mean()) * np.mean(bins == b) for b in np.unique(bins)
    ]
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
    parser = options(__file__, __doc__)
    parser.add_argument("--scenarios", default=SCENARIOS)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds; at least 2")
    arguments = parser.parse_args()
    report = {}
    for name in arguments.scenarios.split(","):
        runs = [measure(name, seed) for seed in range(arguments.seeds)]
        report[name] = {
            key: {"mean": fmean(r[key] for r in runs), "std": stdev(r[key] for r in runs)} for key in runs[0]
        }
        print(name, json.dumps(report[name]))
    write(arguments.out, {"environment": environment("cpu"), "data": report})


if __name__ == "__main__":
    main()
