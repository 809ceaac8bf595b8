"""The choice of the relative ridge on held-out statistics, which keep no samples."""

from __future__ import annotations

import math

import torch

from if2net.decision.ridge import absolute_ridge
from if2net.decision.ridge_path import RidgePath
from if2net.decision.statistics import Statistics
from if2net.errors import NumericalError

# Where the search starts, and what is used where there is nothing to choose it on.
DEFAULT_RIDGE = 1e-3
# Below the smallest, rounding in G is larger than the ridge; above the largest, nothing is learned.
SMALLEST_RIDGE = {torch.float32: 1e-4, torch.float64: 1e-6}
LARGEST_RIDGE = 1e2
# The squared error asks for more ridge than the accuracy does, so the smallest ridge within this factor of the least
# error is taken; `results/encoder.sh` compares it with fixed ridges on validation streams.
SLACK = 1.05
# Fewer held-out samples than this say too little to choose by.
ENOUGH_HELD_OUT = 10
# Ridges are tried in half decades, up to so many of them from the centre of a path.
REACH = 3


def choose_ridge(fitting: Statistics, held: Statistics) -> float:
    """The smallest ridge whose β, solved without the held-out samples, fits them nearly as well as the best.

    The path around the default is looked at first; where its end is the best, the search goes on from there. It
    always starts at the same place, which makes the choice a function of the statistics and of nothing else.
    """
    if held.samples < ENOUGH_HELD_OUT or fitting.samples == 0:
        return DEFAULT_RIDGE
    centre, seen = _half_decades(DEFAULT_RIDGE), set[int]()
    errors: dict[int, float] = {}
    while centre not in seen and _allowed(centre, fitting):
        seen.add(centre)
        try:
            errors = _errors(fitting, held, centre)
        except NumericalError:  # too small a ridge for these features
            centre += REACH
            continue
        best = min(errors, key=lambda place: errors[place])
        if abs(best - centre) < REACH:
            break
        centre = best
    good = [place for place, error in errors.items() if error <= SLACK * min(errors.values())]
    return 10.0 ** (min(good) / 2) if good else DEFAULT_RIDGE


def _errors(fitting: Statistics, held: Statistics, centre: int) -> dict[int, float]:
    """The held-out error at every allowed half decade within reach of the centre."""
    path = RidgePath(fitting, held, absolute_ridge(fitting.G, 10.0 ** (centre / 2)))
    places = [place for place in range(centre - REACH, centre + REACH + 1) if _allowed(place, fitting)]
    return {place: path.error(absolute_ridge(fitting.G, 10.0 ** (place / 2))) for place in places}


def _allowed(place: int, fitting: Statistics) -> bool:
    return SMALLEST_RIDGE[fitting.G.dtype] * 0.99 <= 10.0 ** (place / 2) <= LARGEST_RIDGE * 1.01


def _half_decades(ridge: float) -> int:
    return round(2 * math.log10(ridge))
