"""Few samples in a wide layer are solved in the space of their rows, with the same result."""

import pytest
import torch
from layers import learned_layer

from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.row_space import row_space
from if2net.decision.statistics import one_hot

WIDE = 200


@pytest.fixture(autouse=True)
def _narrow_layers_count_as_wide(monkeypatch):
    monkeypatch.setattr("if2net.decision.row_space.WIDE_LAYER", WIDE)


def counted(task, samples, width=WIDE + 200, **settings):
    return learned_layer(*task(samples, width, 3), torch.arange(samples) % 3 == 0, classes=3, **settings)


@pytest.mark.parametrize("settings", [{"ridge": 1e-3}, {}], ids=["ridge given", "ridge chosen"])
def test_the_solution_is_that_of_all_features(task, settings, monkeypatch):
    few = counted(task, 32, **settings)
    assert row_space(few.total)[0].shape == (WIDE + 200, 40)
    beta, ridge, temperature = few.beta, few.ridge, few.temperature
    torch.testing.assert_close(
        beta, solve(few.total.G, few.total.Q, absolute_ridge(few.total.G, ridge)), rtol=1e-6, atol=1e-9
    )
    monkeypatch.setattr("if2net.decision.row_space.WIDTH_PER_DIRECTION", 10**6)
    whole = counted(task, 32, **settings)
    assert row_space(whole.total) is None
    assert whole.ridge == pytest.approx(ridge, rel=0.02)
    assert whole.temperature == pytest.approx(temperature, rel=0.02)


def test_the_scatter_of_nameless_samples_is_noticed(task):
    V, y = task(32, WIDE + 200, 3)
    layer = learned_layer(V, y % 2, torch.zeros(32, dtype=torch.bool), classes=3, ridge=1e-3)
    layer.total.drop(0)
    assert row_space(layer.total) is None
    torch.testing.assert_close(layer.beta, solve(layer.total.G, layer.total.Q, absolute_ridge(layer.total.G, 1e-3)))


def test_samples_much_shorter_than_others_are_not_lost(task):
    """In float32, their directions are below the rounding of the others."""
    V, y = task(32, WIDE + 200, 3)
    V = (
        V
        * torch.logspace(-3, 0, 32, dtype=V.dtype)[torch.randperm(32, generator=torch.Generator().manual_seed(0))][
            :, None
        ]
    ).float()
    layer = learned_layer(V, y, torch.zeros(32, dtype=torch.bool), classes=3, ridge=1e-3)
    alpha = absolute_ridge(layer.total.G, 1e-3)
    exact = V.double().T @ torch.linalg.solve(
        V.double() @ V.double().T + alpha * torch.eye(32, dtype=torch.float64), one_hot(y, 3, torch.float64)
    )
    torch.testing.assert_close(V.double() @ layer.beta.double(), V.double() @ exact, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("samples", "width"), [(300, WIDE + 200), (20, WIDE - 1)], ids=["many samples", "narrow"])
def test_nothing_is_reduced_where_it_saves_no_time(task, samples, width):
    assert row_space(counted(task, samples, width).total) is None
