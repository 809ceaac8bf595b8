"""Wide layers choose the ridge and the temperature on some of their features."""

import pytest
import torch
from layers import counted, learned_layer

from if2net.decision import layer as rules
from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.ridge_choice import choose_ridge, choose_wide_ridge
from if2net.decision.symmetric import symmetric


@pytest.fixture
def thinned(monkeypatch):
    monkeypatch.setattr(rules, "CHOOSING_FEATURES", 9)


@pytest.fixture
def data(task):
    V, y = task(400, 40, 4)
    return V, y, torch.arange(400) % 5 == 0


@pytest.fixture
def noisy():
    """Random features and uncertain labels: a ridge that is too small overfits."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(2000, 20, generator=generator, dtype=torch.float64)
    V = torch.relu(X @ torch.randn(20, 180, generator=generator, dtype=torch.float64))
    y = (X[:, :4] + torch.randn(2000, 4, generator=generator, dtype=torch.float64)).argmax(dim=1)
    return V, y, torch.arange(2000) % 5 == 0


def test_held_out_statistics_of_a_wide_layer_have_some_of_the_features(thinned, data):
    V, y, held = data
    layer = learned_layer(*data)
    assert layer.held.width == 8  # every fifth of 40
    fitting = counted(V[~held][:, ::5].contiguous(), y[~held], classes=4)
    torch.testing.assert_close(symmetric(layer.fitting.G), symmetric(fitting.G))
    torch.testing.assert_close(layer.fitting.Q, fitting.Q)
    assert layer.ridge == choose_wide_ridge(fitting, layer.held, layer.total.G)


def test_the_ridge_of_a_wide_layer_is_larger_than_that_of_the_same_features_alone(noisy):
    V, y, held = noisy
    fitting, tested = (counted(V[part][:, ::9].contiguous(), y[part], classes=4) for part in (~held, held))
    best = choose_ridge(fitting, tested, slack=1.0)
    G = counted(V, y, classes=4).G
    assert choose_wide_ridge(fitting, tested, G) == pytest.approx(best * (len(G) / fitting.width) ** 0.5 / 3)


def test_the_ridge_of_a_wide_layer_is_nearly_as_accurate_as_the_best(monkeypatch, noisy):
    monkeypatch.setattr(rules, "CHOOSING_FEATURES", 40)  # of 180, as about 2,000 of 10,000
    V, y, held = noisy
    layer, test = learned_layer(V[:500], y[:500], held[:500]), slice(500, None)

    def accuracy(ridge):
        beta = solve(layer.total.G, layer.total.Q, absolute_ridge(layer.total.G, ridge))
        return float(((V[test] @ beta).argmax(dim=1) == y[test]).double().mean())

    assert layer.held.width < layer.width
    assert accuracy(layer.ridge) >= max(accuracy(10.0**decade) for decade in range(-5, 2)) - 0.03


def test_beta_of_a_wide_layer_uses_all_features_and_all_samples(thinned, data):
    V, layer = data[0], learned_layer(*data)
    alpha = layer.ridge * float((V.T @ V).diagonal().mean())
    expected = torch.linalg.solve(V.T @ V + alpha * torch.eye(40, dtype=V.dtype), layer.total.Q)
    torch.testing.assert_close(layer.beta, expected)
    assert 0 < layer.temperature < 10


def test_wide_layers_merge_and_forget_exactly(thinned, data):
    V, y, held = data
    whole, parts = (
        learned_layer(*data),
        [learned_layer(V[part], y[part], held[part]) for part in torch.arange(400).split(150)],
    )
    for part in parts[1:]:
        parts[0].merge(part, torch.arange(4), 4)
    torch.testing.assert_close(symmetric(parts[0].held.G), symmetric(whole.held.G))
    torch.testing.assert_close(parts[0].beta, whole.beta)
    whole.subtract(V[100:], y[100:], held[100:])
    torch.testing.assert_close(whole.held.Q, learned_layer(V[:100], y[:100], held[:100]).held.Q)
