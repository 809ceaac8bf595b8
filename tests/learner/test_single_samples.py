"""Samples that come one by one: a wide layer keeps its factor and its ridge for a while, and then is exact again."""

import numpy as np
import pytest
import torch

from if2net.decision import analytic


@pytest.fixture
def streams(new_learner, digits, monkeypatch):
    """A learner that got 600 samples one by one, and one that got them at once."""
    monkeypatch.setattr(analytic, "UPDATE_WIDTH", 10)  # narrow layers would solve again for each sample
    X, y = digits
    root = new_learner(width=150).learn(X[:200], y[:200])
    single = root.fork().learn(X[:250], y[:250])
    for sample in range(250, 600):
        single.learn(X[sample : sample + 1], y[sample : sample + 1])
        single.predict(X[:1])
    return single, root.fork().learn(X[:600], y[:600])


def error(one, other, X):
    a, b = one.scores(X).double(), other.scores(X).double()
    return float((a - b).abs().max() / b.abs().max())


def test_samples_one_by_one_are_near_those_at_once_and_equal_after_the_next_solution(streams, digits):
    X, y = digits
    single, at_once = streams
    assert single.decision._inverse is not None
    assert error(single, at_once, X) <= 1e-2
    assert (single.predict(X) == at_once.predict(X)).mean() >= 0.995
    for learner in streams:
        learner.learn(X[600:700], y[600:700])  # too many for the factor that is kept
    assert error(single, at_once, X) <= 1e-3
    np.testing.assert_array_equal(single.predict(X), at_once.predict(X))


def test_single_samples_for_a_narrow_layer_sum_up_like_all_at_once(new_learner):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2000, 6)), np.arange(2000) % 3
    root = new_learner(width=64, ridge=1e-3).learn(X[:100], y[:100])
    single, at_once = root.fork(), root.fork().learn(X, y)
    for sample in range(2000):
        single.learn(X[sample : sample + 1], y[sample : sample + 1])
    for name in ("total.G", "total.Q", "total.counts"):
        a, b = single.tensors()[name].double(), at_once.tensors()[name].double()
        assert float((a - b).abs().max() / b.abs().max()) <= 5e-6
    assert torch.allclose(single.scores(X), at_once.scores(X), rtol=1e-3, atol=1e-4)
