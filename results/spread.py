"""The spread of the paper's layers over class orders, explained by the classes that share a task.

The functions read `results/table-mnist/fashion-mnist-aware/`, and `results/table.py` writes the tables of
docs/protocols.md.
"""

from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np

from if2net.study.bench.display import markdown
from if2net.study.bench.results import Results, Run

HERE = Path(__file__).parent
NAMES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
Pair = frozenset[str]
# Classes of one group look alike. The hardest pairs are counted separately.
ALIKE = [{"T-shirt", "pullover", "dress", "coat", "shirt"}, {"sandal", "sneaker", "boot"}]
HARDEST = {frozenset(pair) for pair in (*combinations(("pullover", "coat", "shirt"), 2), ("T-shirt", "shirt"))}


def runs() -> list[Run]:
    return Results.read(HERE / "table-mnist/fashion-mnist-aware/results.json").of("if2net")


def tasks(run: Run) -> list[tuple[Pair, float]]:
    """Return the classes of each task, and the accuracy on it after the last task, in percent."""
    pairs = zip(run.class_order[::2], run.class_order[1::2], strict=True)
    last = [100 * value for value in run.R[-1]]
    return [(frozenset(NAMES[number] for number in pair), acc) for pair, acc in zip(pairs, last, strict=True)]


def counts(run: Run) -> tuple[int, int]:
    """Return the number of tasks with a hardest pair, and of tasks with another pair that looks alike."""
    pairs = [pair for pair, _ in tasks(run)]
    hardest = sum(pair in HARDEST for pair in pairs)
    return hardest, sum(any(pair <= group for group in ALIKE) for pair in pairs) - hardest


def by_pair() -> dict[Pair, list[float]]:
    """Return the accuracies of all tasks, by their classes."""
    accuracies = defaultdict[Pair, list[float]](list)
    for run in runs():
        for pair, acc in tasks(run):
            accuracies[pair].append(acc)
    return dict(accuracies)


def fit() -> tuple[list[float], float]:
    """Return a, b and c of ACC = a + b · hardest + c · other similar pairs, by least squares, and R²."""
    acc = np.array([100 * run.acc for run in runs()])
    columns = np.array([(1, *counts(run)) for run in runs()], dtype=float)
    coefficients = np.linalg.lstsq(columns, acc, rcond=None)[0]
    missing = np.square(acc - columns @ coefficients).sum()
    return coefficients.tolist(), float(1 - missing / np.square(acc - acc.mean()).sum())


def share_of_pairs() -> float:
    """Return the share of the variance between tasks that their classes explain, corrected for their number."""
    pairs = by_pair()
    values = np.concatenate([np.array(accs) for accs in pairs.values()])
    within = sum(np.square(np.array(accs) - fmean(accs)).sum() for accs in pairs.values())
    return float(1 - within / (len(values) - len(pairs)) / values.var(ddof=1))


def neighbours() -> float:
    """Return the ACC for the tasks 0 and 1, 2 and 3, and so on, from the accuracies by pair, in percent."""
    accuracies = by_pair()
    return fmean(fmean(accuracies[frozenset(pair)]) for pair in zip(NAMES[::2], NAMES[1::2], strict=True))


def orders() -> str:
    """Return a table of ACC by the numbers of similar pairs that share a task."""
    groups = defaultdict[tuple[int, int], list[float]](list)
    for run in runs():
        groups[counts(run)].append(100 * run.acc)
    rows = [
        [str(hardest), str(others), str(len(accs)), f"{fmean(accs):.2f}", f"{min(accs):.2f} to {max(accs):.2f}"]
        for (hardest, others), accs in sorted(groups.items())
    ]
    return markdown(["hardest pairs", "other similar pairs", "orders", "ACC %", "lowest to highest"], rows, words=0)


def alike() -> str:
    """Return a table of the similar pairs: the number of orders with the pair, and its mean accuracy."""
    pairs = {pair: accs for pair, accs in by_pair().items() if any(pair <= group for group in ALIKE)}
    ordered = sorted(pairs.items(), key=lambda entry: fmean(entry[1]))
    rows = [[" and ".join(sorted(pair)), str(len(accs)), f"{fmean(accs):.1f}"] for pair, accs in ordered]
    return markdown(["classes of the task", "orders", "accuracy %"], rows)
