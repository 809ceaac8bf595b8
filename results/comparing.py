"""How results are compared: the rule of docs/metrics.md for "ahead", "level" and "behind"."""

from collections.abc import Iterable
from statistics import fmean

# With fewer seeds, an equal sign in all of them says little.
ENOUGH_SEEDS = 5


def relation_by_seed(differences: list[float], deviations: Iterable[float]) -> str:
    """Return "ahead", "level" or "behind".

    `differences` has, for each seed, the result of the first minus that of the second, and `deviations` the standard
    deviations of both.
    """
    mean = fmean(differences)
    same_sign = len(differences) >= ENOUGH_SEEDS and all(difference * mean > 0 for difference in differences)
    if not (same_sign or abs(mean) > max(deviations)):
        return "level"
    return "ahead" if mean > 0 else "behind"


def extremes(values: Iterable[float]) -> list[float]:
    """Return the smallest and the largest value."""
    ordered = sorted(values)
    return [ordered[0], ordered[-1]]
