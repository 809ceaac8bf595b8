"""A tiny innate encoder and its training, a second of work."""

import pytest

from if2net.encoder.innate.network import Plan
from if2net.encoder.innate.training import Course


@pytest.fixture(scope="session")
def plan():
    return Plan((4, 6, 8), (0, 1, 1), grids=(3, 2, 1))


@pytest.fixture(scope="session")
def course():
    # At the default rate, some trainings of so small a network diverge; rounding decides which.
    return Course(seed=1, classes=5, steps=4, batch=6, size=12, rate=0.05, average=0.5)
