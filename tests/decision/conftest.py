"""Features with classes."""

import pytest
import torch


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
