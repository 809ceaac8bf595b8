"""Twenty thousand samples that are learned one by one give the sums and the scores of one call of `learn`."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from if2net import IF2Net

pytestmark = pytest.mark.attack
SINGLE, FIRST, CLASSES = 20_000, 500, 10


def samples(count):
    random = np.random.default_rng(0)
    centres = 0.7 * random.normal(size=(CLASSES, 20))
    y = random.integers(0, CLASSES, count)
    return centres[y] + random.normal(size=(count, 20)), y


def distance(a, b):
    """Return the largest difference, relative to the largest entry."""
    return float((a.double() - b.double()).abs().max() / b.double().abs().max())


# The scores of float32 differ more than its sums: dividing by a small ridge enlarges their rounding.
@pytest.mark.parametrize(("dtype", "sums", "scores"), [("float32", 1e-5, 1e-4), ("float64", 1e-13, 1e-10)])
def test_single_samples_equal_one_call(dtype, sums, scores):
    X, y = samples(FIRST + SINGLE)
    start = IF2Net(device="cpu", width=1000, dtype=dtype).learn(X[:FIRST], y[:FIRST])
    single, at_once = start.fork().learn(X[:FIRST], y[:FIRST]), start.fork().learn(X, y)
    for place in range(FIRST, FIRST + SINGLE):
        single.learn(X[place : place + 1], y[place : place + 1])
    assert single.tasks == SINGLE + 1
    assert single.decision.total.counts.tolist() == at_once.decision.total.counts.tolist()
    for part in ("total", "held"):
        ours, theirs = getattr(single.decision, part), getattr(at_once.decision, part)
        assert distance(ours.G.tril(), theirs.G.tril()) < sums
        assert distance(ours.Q, theirs.Q) < sums
    assert float((single.scores(X[:1000]) - at_once.scores(X[:1000])).abs().max()) < scores


def test_a_wide_layer_differs_by_its_ridge_alone():
    """Between two choices of the ridge, at most 2 % of the samples are new, and the ridge is that of the others."""
    X, y = samples(6200)
    single = IF2Net(device="cpu", width=2048).learn(X[:6000], y[:6000])
    at_once = single.fork().learn(X, y)
    for place in range(6000, 6200):
        single.learn(X[place : place + 1], y[place : place + 1])
        single.predict(X[:1])  # solves β, or updates it
    expected = at_once.scores(X[:1000])
    farthest = float((single.scores(X[:1000]) - expected).abs().max())
    assert single.decision._inverse.rows > 0
    assert 1e-6 < farthest < 5e-3
    single.decision._changed()  # the ridge is chosen again
    single._state = replace(single._state, solution=None)
    assert float((single.scores(X[:1000]) - expected).abs().max()) < 3e-5
    assert torch.equal(single.decision.total.counts, at_once.decision.total.counts)
