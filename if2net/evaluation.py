"""The quality of predictions for samples whose labels are known, counted block by block."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Intervals of equal width; in each, the probability of the winner is compared with the share of right predictions.
BINS = 15
CALIBRATION_ERROR = "the mean distance between the probability and the share of right predictions"
# Wrong predictions that are kept, the surest first.
KEPT = 60


@dataclass(frozen=True)
class Mistake:
    """A wrong prediction, with the probability that the model gave it."""

    sample: Any
    label: Any
    prediction: Any
    probability: float


@dataclass(frozen=True)
class ClassQuality:
    """The quality for one class. Recall is None without samples, and precision without predictions."""

    name: Any
    samples: int
    recall: float | None  # the share of its samples that are predicted right
    precision: float | None  # the share of its predictions that are right


class Evaluation:
    """Counts of right and wrong predictions. `classes` has the order of the columns of the probabilities.

    Labels that the model does not know are allowed; their samples count as wrong.

    >>> evaluation = Evaluation(np.array(["jay", "owl"]))
    >>> evaluation.add(["1.jpg", "2.jpg"], np.array(["jay", "owl"]), np.array([[0.9, 0.1], [0.6, 0.4]]))
    >>> evaluation.accuracy, evaluation.confusions
    (0.5, [('owl', 'jay', 1)])
    >>> round(evaluation.calibration_error, 2)
    0.35
    """

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = classes
        self.mistakes: list[Mistake] = []
        self._pairs: Counter[tuple[Any, Any]] = Counter()  # of labels and predictions
        self._bins = np.zeros((BINS, 2))  # right predictions, and the sum of the probabilities of the winners

    def add(self, samples: Sequence[Any], y: np.ndarray, probabilities: np.ndarray) -> None:
        """Count a block of predictions. `samples` is anything that identifies them among the mistakes."""
        winners = probabilities.max(axis=1)
        labels, predictions = y.tolist(), self.classes[probabilities.argmax(axis=1)].tolist()
        self._pairs.update(zip(labels, predictions, strict=True))
        right = np.array([label == prediction for label, prediction in zip(labels, predictions, strict=True)])
        bins = np.minimum(winners * BINS, BINS - 1).astype(int)
        np.add.at(self._bins, bins, np.stack([right, winners], axis=1))
        wrong = [
            Mistake(samples[place], labels[place], predictions[place], float(winners[place]))
            for place in np.flatnonzero(~right).tolist()
        ]
        self.mistakes = heapq.nlargest(KEPT, self.mistakes + wrong, key=lambda mistake: mistake.probability)

    @property
    def samples(self) -> int:
        return self._pairs.total()

    @property
    def right(self) -> int:
        """The number of right predictions."""
        return sum(count for (label, prediction), count in self._pairs.items() if label == prediction)

    @property
    def accuracy(self) -> float:
        return self.right / self.samples

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy."""
        from scipy.stats import binomtest

        interval = binomtest(self.right, self.samples).proportion_ci(0.95, method="wilson")
        return float(interval.low), float(interval.high)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have samples."""
        return float(np.mean([one.recall for one in self.per_class if one.recall is not None]))

    @property
    def calibration_error(self) -> float:
        """The mean distance between the probability of the winner and the share of right predictions (ECE)."""
        return float(np.abs(self._bins[:, 0] - self._bins[:, 1]).sum() / self.samples)

    @property
    def per_class(self) -> list[ClassQuality]:
        """The quality per class, in sorted order. Classes of the model without samples are included."""
        asked, given, right = Counter[Any](), Counter[Any](), Counter[Any]()
        for (label, prediction), count in self._pairs.items():
            asked[label] += count
            given[prediction] += count
            right[label] += count if label == prediction else 0
        return [
            ClassQuality(
                name,
                asked[name],
                right[name] / asked[name] if asked[name] else None,
                right[name] / given[name] if given[name] else None,
            )
            for name in sorted({*self.classes.tolist(), *asked})
        ]

    @property
    def worst_first(self) -> list[ClassQuality]:
        """The quality per class, in the order of the recall. Classes without samples come last."""
        return sorted(self.per_class, key=lambda one: 2.0 if one.recall is None else one.recall)

    @property
    def unknown(self) -> list[Any]:
        """The labels that are not classes of the model."""
        return sorted({label for label, _ in self._pairs}.difference(self.classes.tolist()))

    @property
    def confusions(self) -> list[tuple[Any, Any, int]]:
        """Label, wrong prediction and their number, the most frequent first."""
        wrong = [(*pair, count) for pair, count in self._pairs.items() if pair[0] != pair[1]]
        return sorted(wrong, key=lambda one: (-one[2], one[0], one[1]))
