"""The minimum of a function of one number, by golden-section search."""

from __future__ import annotations

from collections.abc import Callable

RATIO = (5**0.5 - 1) / 2


def golden_section(function: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Return where a function with a single minimum is least between two places.

    Each step needs one value of the function, and shortens the interval by the golden ratio.

    >>> round(golden_section(lambda x: (x - 2) ** 2, 0, 10, steps=30), 5)
    2.0
    """
    left, right = high - (high - low) * RATIO, low + (high - low) * RATIO
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - (high - low) * RATIO
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + (high - low) * RATIO
            at_right = function(right)
    return (low + high) / 2
