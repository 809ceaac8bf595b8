"""Features with classes, and their statistics."""

import pytest
import torch

from if2net.decision.statistics import Statistics


def make_task(samples, width, classes, *, seed=0, rank=None):
    """Draw V and y in float64: noisy class centres times a mixing matrix, so that the features are dependent."""
    generator = torch.Generator().manual_seed(seed)
    inner = rank or width
    y = torch.randint(0, classes, (samples,), generator=generator)
    centres = torch.randn(classes, inner, generator=generator, dtype=torch.float64)
    noise = torch.randn(samples, inner, generator=generator, dtype=torch.float64)
    mixing = torch.randn(inner, width, generator=generator, dtype=torch.float64) / inner**0.5
    return (centres[y] + noise) @ mixing, y


@pytest.fixture(scope="session")
def task():
    return make_task


def count(V, y, classes=5):
    """Count the statistics of these samples."""
    statistics = Statistics(V.shape[1], V.dtype)
    statistics.grow(classes)
    statistics.add(V, y)
    return statistics


@pytest.fixture(scope="session")
def counted():
    return count
