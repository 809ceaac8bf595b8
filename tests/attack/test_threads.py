"""Eight threads predict while one learns, forgets and merges, for a minute."""

import threading
import time

import numpy as np
import pytest

from if2net import IF2Net

pytestmark = pytest.mark.attack
SECONDS = 60


def test_eight_readers_see_only_whole_models_for_a_minute():
    """Each class is far from the others: a whole model never errs, and knows 6, 9 or 12 classes."""
    random = np.random.default_rng(0)
    centres = 20 * np.eye(12)
    X, y = np.repeat(centres, 30, axis=0) + random.normal(size=(360, 12)), np.repeat(np.arange(12), 30)
    net = IF2Net(seed=0, device="cpu", width=100, dtype="float64").learn(X[:180], y[:180])
    states = {tuple(range(6)), tuple(range(9)), tuple(range(12))}
    end, failures, predictions = time.monotonic() + SECONDS, [], [0] * 8

    def read(place):
        while time.monotonic() < end and not failures:
            probabilities, classes = net.probabilities(X[:180]), net.predict(X[:180])
            wrong = [
                name
                for name, seen in (("classes", classes), ("best", probabilities.argmax(dim=1).numpy()))
                if not np.array_equal(seen, y[:180])
            ]
            if wrong or tuple(range(probabilities.shape[1])) not in states:
                failures.append((wrong, probabilities.shape))
            predictions[place] += 1

    readers = [threading.Thread(target=read, args=(place,)) for place in range(8)]
    for reader in readers:
        reader.start()
    while time.monotonic() < end and not failures:
        net.learn(X[180:270], y[180:270])
        net.merge(net.fork().learn(X[270:], y[270:]))
        net.forget(X[270:], y[270:])
        net.forget(X[180:270], y[180:270])
    for reader in readers:
        reader.join()
    assert not failures
    assert min(predictions) > 0
    whole = net.fork().learn(X[:180], y[:180])
    np.testing.assert_allclose(net.scores(X), whole.scores(X), rtol=1e-6, atol=1e-6)
