"""Copies of a learner by `copy` and `pickle`: equal, independent, and with a lock of their own."""

import copy
import pickle
import threading

import numpy as np
import pytest


def by_pickle(learner):
    return pickle.loads(pickle.dumps(learner))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, by_pickle], ids=["deepcopy", "pickle"])
def test_a_copy_is_equal_and_independent(new_learner, digits, unchanged, duplicate):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100])
    other = duplicate(learner)
    np.testing.assert_array_equal(other.scores(X), learner.scores(X))
    with unchanged(learner):
        other.learn(X[100:200], y[100:200] + 10).forget(X[:50], y[:50])
    with unchanged(other):
        learner.learn(X[200:300], y[200:300])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, by_pickle], ids=["deepcopy", "pickle"])
def test_a_copy_does_not_wait_for_the_original(new_learner, digits, duplicate):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100])
    other = duplicate(learner)
    with learner._lock:
        thread = threading.Thread(target=other.learn, args=(X[100:200], y[100:200]), daemon=True)
        thread.start()
        thread.join(timeout=60)
    assert not thread.is_alive()
    assert other.samples == 200


@pytest.mark.parametrize("duplicate", [copy.deepcopy, by_pickle], ids=["deepcopy", "pickle"])
def test_a_copy_waits_for_a_change_to_be_complete(new_learner, digits, duplicate):
    X, y = digits
    learner, copies = new_learner().learn(X[:100], y[:100]), []
    thread = threading.Thread(target=lambda: copies.append(duplicate(learner)))
    with learner._lock:
        thread.start()
        thread.join(timeout=0.2)
        assert not copies
        learner.learn(X[100:200], y[100:200])
    thread.join()
    assert copies[0].samples == 200


@pytest.mark.parametrize("duplicate", [copy.deepcopy, by_pickle], ids=["deepcopy", "pickle"])
def test_an_unfitted_copy_can_learn(new_learner, digits, duplicate):
    X, y = digits
    assert duplicate(new_learner()).learn(X[:50], y[:50]).samples == 50
