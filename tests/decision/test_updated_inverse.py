"""A few samples for a wide analytic layer: β is updated without a new factorisation."""

import pytest
import torch
from layers import learned_layer

from if2net.decision import analytic
from if2net.decision.analytic import UpdatedInverse
from if2net.decision.ridge import solve


@pytest.fixture
def factorised(monkeypatch):
    """The α of every factorisation of a whole layer. A width of 10 counts as wide."""
    alphas, original = [], analytic.factor

    def recording(G, alpha):
        alphas.append(alpha)
        return original(G, alpha)

    monkeypatch.setattr(analytic, "UPDATE_WIDTH", 10)
    monkeypatch.setattr(analytic, "factor", recording)
    return alphas


def update_in_parts(layer, V, y, held, size, classes=4):
    for part in torch.arange(len(V)).split(size):
        layer.update(V[part].to(layer.total.G.dtype), y[part], held[part], classes)
        _ = layer.beta


def updated(V, y, size):
    """Return a layer that has learned 1,000 samples at once and the others in parts, and its held-out samples."""
    held = torch.arange(len(V)) % 10 == 0
    layer = learned_layer(V[:1000], y[:1000], held[:1000])
    update_in_parts(layer, V[1000:], y[1000:], held[1000:], size)
    return layer, held


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-3)])
@pytest.mark.parametrize("size", [1, 4])
def test_a_few_samples_need_no_factorisation_and_give_the_same_beta(task, factorised, dtype, tolerance, size):
    V, y = task(1020, 40, 4)
    held = torch.arange(1020) % 10 == 0
    layer = learned_layer(V[:1000].to(dtype), y[:1000], held[:1000])
    update_in_parts(layer, V[1000:1004], y[1000:1004], held[1000:1004], size)  # from here on the factor is kept
    alpha = factorised[-1]
    factorised.clear()
    update_in_parts(layer, V[1004:1016], y[1004:1016], held[1004:1016], size)
    assert factorised == []
    expected = solve(V[:1016].T @ V[:1016], layer.total.Q.double(), alpha)
    error = float((layer.beta.double() - expected).norm() / expected.norm())
    assert error < tolerance
    assert int(layer.total.counts.sum()) == 1016


def test_a_few_samples_can_add_a_class(task, factorised):
    V, y = task(1006, 20, 3)
    held = torch.zeros(1006, dtype=torch.bool)
    layer = learned_layer(V[:1000], y[:1000], held[:1000], classes=3)
    update_in_parts(layer, V[1000:1002], y[1000:1002], held[:2], 1, classes=3)
    y[1002:] = 3
    layer.update(V[1002:], y[1002:], held[1002:], 4)
    assert layer.beta.shape == (20, 4)
    whole = learned_layer(V, y, held)
    torch.testing.assert_close(layer.beta, whole.beta, rtol=1e-2, atol=1e-4)


def test_beta_is_solved_again_when_many_samples_are_new(task, factorised):
    layer, _ = updated(*task(1100, 20, 4), 5)
    assert 2 <= len(factorised) <= 8
    assert not layer._is_few(100)


def test_beta_is_solved_again_when_large_samples_change_the_ridge(task, factorised):
    V, y = task(1010, 20, 4)
    V[1004:] *= 30
    layer, held = updated(V, y, 2)
    torch.testing.assert_close(layer.beta, learned_layer(V, y, held).beta, rtol=1e-6, atol=1e-9)


def test_a_copy_of_the_statistics_is_solved_again(task, factorised):
    V, y = task(1010, 20, 4)
    layer, held = updated(V, y, 1)
    copy = layer.empty()
    copy.restore(dict(layer.tensors()))
    torch.testing.assert_close(copy.beta, learned_layer(V, y, held).beta, rtol=1e-9, atol=1e-12)


def test_a_narrow_layer_is_always_solved_again(task):
    V, y = task(1000, 20, 4)
    assert not learned_layer(V, y, y < 0)._is_few(1)


def test_the_gain_is_that_of_the_grown_matrix(task):
    V, _ = task(30, 12, 4)
    M = torch.eye(12, dtype=torch.float64)
    inverse = UpdatedInverse(torch.linalg.cholesky(M))
    for part in V.split(7):
        gain = inverse.grow(part)
        M = M + part.T @ part
        torch.testing.assert_close(M @ gain, part.T)
