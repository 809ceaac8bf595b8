"""The paper's three metrics and two more, computed from the accuracy matrix R.

R[i][j] is the accuracy on task j after learning task i, both counted from 0. Row i ends at the diagonal, since later
tasks have not been learned yet. All metrics are fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

Matrix = Sequence[Sequence[float]]  # row i has the accuracies on tasks 0 to i


def check(R: Matrix) -> Matrix:
    """Return R. A row of another length is an error that names the row."""
    for i, row in enumerate(R):
        if len(row) != i + 1:
            raise ValueError(
                f"R must have one accuracy in row 1, two in row 2 and so on, but row {i + 1} has {len(row)}"
            )
    return R


def acc(R: Matrix) -> float:
    """Return ACC = (1/T) Σ_t R[T][t]: accuracy on all tasks after the last one (the paper's first equation).

    >>> acc([[1.0], [0.5, 0.9]])
    0.7
    """
    return fmean(check(R)[-1])


def bwt(R: Matrix) -> float:
    """Return BWT = (1/(T−1)) Σ_{t<T} (R[T][t] − R[t][t]): 0 without forgetting (the paper's second equation).

    >>> bwt([[1.0], [0.5, 0.9]])
    -0.5
    """
    rows = check(R)
    return fmean(rows[-1][t] - rows[t][t] for t in range(len(rows) - 1)) if len(rows) > 1 else 0.0


def fwt(R: Matrix, independent: Sequence[float]) -> float:
    """Return FWT = (1/(T−1)) Σ_{t≥2} (R[t][t] − R_ind[t]): compared with task t alone (the paper's third equation).

    >>> round(fwt([[1.0], [0.5, 0.9]], [1.0, 0.95]), 6)
    -0.05
    """
    rows = check(R)
    return fmean(rows[t][t] - independent[t] for t in range(1, len(rows))) if len(rows) > 1 else 0.0


def average_incremental(R: Matrix) -> float:
    """Return the mean over i of the accuracy on tasks 1 to i after task i, often called "average accuracy".

    >>> average_incremental([[1.0], [0.5, 0.9]])
    0.85
    """
    return fmean(fmean(row) for row in check(R))


def forgetting(R: Matrix) -> float:
    """Return the mean over old tasks of the best accuracy before the last task minus the final accuracy.

    >>> forgetting([[1.0], [0.5, 0.9]])
    0.5
    """
    rows = check(R)
    last = len(rows) - 1
    drops = [max(rows[i][t] for i in range(t, last)) - rows[last][t] for t in range(last)]
    return fmean(drops) if drops else 0.0


def curve(R: Matrix) -> list[float]:
    """Return the accuracy on all tasks seen so far, after each task.

    >>> curve([[1.0], [0.5, 0.9]])
    [1.0, 0.7]
    """
    return [fmean(row) for row in check(R)]


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation over the seeds; 0 for one seed."""
    return stdev(values) if len(values) > 1 else 0.0
