"""The choice of the relative ridge on held-out statistics, which keep no samples."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from if2net.decision.ridge import ROUNDINGS, absolute_ridge, rounding
from if2net.decision.ridge_path import ridge_path
from if2net.decision.statistics import Statistics
from if2net.errors import NumericalError

# What is used where there is nothing to choose it on.
DEFAULT_RIDGE = 1e-3
# Where the search starts: most choices are within reach of it.
FIRST_CENTRE = 1e-2
# The ends of the search.
SMALLEST_RIDGE = {torch.float32: 1e-4, torch.float64: 1e-6}
LARGEST_RIDGE = 1e2
# The squared error asks for more ridge than the accuracy does, so the smallest ridge within this factor of the least
# error is taken; `results/encoder.sh` compares it with fixed ridges on validation streams. Where the choice sees some
# of the features only, a small ridge costs it less than it will cost all of them: there the factor is closer to 1.
SLACK, SLACK_OF_SOME = 1.05, 1.01
# Fewer held-out samples than this say too little to choose by.
ENOUGH_HELD_OUT = 10
# Ridges are tried in half decades, up to so many of them from the centre of a path.
REACH = 3


def choose_ridge(fitting: Statistics, held: Statistics, slack: float = SLACK) -> float:
    """The smallest ridge whose β, solved without the held-out samples, fits them nearly as well as the best.

    The path around one centre is looked at first; where its end is the best, the search goes on from there. It
    always starts at the same place, which makes the choice a function of the statistics and of nothing else.
    """
    if held.samples < ENOUGH_HELD_OUT or fitting.samples == 0:
        return max(DEFAULT_RIDGE, smallest_ridge(fitting.G))
    allowed = range(math.ceil(_place(smallest_ridge(fitting.G))), round(_place(LARGEST_RIDGE)) + 1)
    centre, seen = max(round(_place(FIRST_CENTRE)), allowed.start), set[int]()
    errors: dict[int, float] = {}
    while centre in allowed and centre not in seen:
        seen.add(centre)
        try:
            errors = _errors(fitting, held, centre, allowed)
        except NumericalError:  # too small a ridge for these features
            centre += REACH
            continue
        best = min(errors, key=lambda place: errors[place])
        if abs(best - centre) < REACH:
            break
        centre = best
    good = [place for place, error in errors.items() if error <= slack * min(errors.values())]
    return _ridge(min(good)) if good else DEFAULT_RIDGE


def smallest_ridge(G: Tensor) -> float:
    """The relative ridge below which rounding in G is larger."""
    mean_diagonal = float(G.diagonal().double().mean())
    return max(
        SMALLEST_RIDGE[G.dtype], ROUNDINGS * rounding(G, G.dtype) / mean_diagonal if mean_diagonal > 0 else 0.0
    )


def check_ridge(G: Tensor, alpha: float) -> None:
    """A given ridge may be below the rounding of G: the answers would be nonsense, and look like any others."""
    least = rounding(G, G.dtype)
    if alpha < least:
        raise NumericalError(
            f"The ridge is too small for these features: α = {alpha:.3g} is below the rounding of G, "
            f"{least:.3g}. Give one that is {least / alpha:.2g} times as large, or none, so that it is chosen; "
            "or use dtype='float64'."
        )


def _errors(fitting: Statistics, held: Statistics, centre: int, allowed: range) -> dict[int, float]:
    """The held-out error at every allowed half decade within reach of the centre."""
    path = ridge_path(fitting, held, absolute_ridge(fitting.G, _ridge(centre)))
    places = [place for place in range(centre - REACH, centre + REACH + 1) if place in allowed]
    return {place: path.error(absolute_ridge(fitting.G, _ridge(place))) for place in places}


def _ridge(place: int) -> float:
    """Places are half decades: 10^(place/2)."""
    return 10.0 ** (place / 2)


def _place(ridge: float) -> float:
    return 2 * math.log10(ridge) - 1e-9  # so that a ridge that is a half decade stays one when rounded up
