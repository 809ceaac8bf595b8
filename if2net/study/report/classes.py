"""Accuracy on each class and the worst confusions, from counts of test samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from if2net.study.report.gather import Confusions


def samples(counts: Confusions) -> Counter[int]:
    """How many test samples each class has."""
    found: Counter[int] = Counter()
    for (true, _), count in counts.items():
        found[true] += count
    return found


def class_accuracies(counts: Confusions) -> dict[int, float]:
    """
    >>> class_accuracies(Counter({(0, 0): 3, (0, 1): 1, (1, 1): 2}))
    {0: 0.75, 1: 1.0}
    """
    return {true: counts[true, true] / total for true, total in sorted(samples(counts).items())}


def worst_confusions(counts: Confusions, limit: int) -> list[tuple[int, int, float]]:
    """(true, predicted, share of the true class), the largest share first.

    >>> worst_confusions(Counter({(0, 0): 3, (0, 1): 1, (1, 1): 2}), 5)
    [(0, 1, 0.25)]
    """
    totals = samples(counts)
    wrong = [(true, taken, count / totals[true]) for (true, taken), count in counts.items() if true != taken]
    return sorted(wrong, key=lambda entry: (-entry[2], entry[:2]))[:limit]


def hardest(tables: Sequence[dict[int, float]], limit: int) -> list[int]:
    """The classes to show: all in order, or where there are too many, those with the lowest mean accuracy."""
    classes = sorted({label for table in tables for label in table})
    if len(classes) <= limit:
        return classes

    def mean(label: int) -> float:
        known = [table[label] for table in tables if label in table]
        return sum(known) / len(known)

    return sorted(classes, key=mean)[:limit]
