"""Merging equals one learner having seen all the data, and learners that do not fit each other are refused."""

import contextlib
import copy
import itertools
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from if2net.errors import ConfigurationError, InputError


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(
    sizes=st.lists(st.integers(1, 80), min_size=2, max_size=5),
    by_class=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_merging_equals_learning_everything_in_one_learner(
    frozen, digits, assert_equal_learners, sizes, by_class, seed
):
    X, y = digits
    order = np.random.default_rng(seed).permutation(len(X))[: sum(sizes)]
    if by_class:  # then the learners hardly share a class
        order = order[np.argsort(y[order], kind="stable")]
    learners = [frozen.fork().learn(X[part], y[part]) for part in np.split(order, np.cumsum(sizes)[:-1])]
    single = frozen.fork().learn(X[order], y[order])
    for sequence in (learners, learners[::-1]):
        merged = frozen.fork()
        for learner in sequence:
            merged.merge(learner)
        assert_equal_learners(merged, single)


def test_merging_adds_classes_and_tasks(new_learner, digits):
    X, y = digits
    low, high = y < 5, y >= 3
    learner = new_learner().learn(X[low], y[low])
    learner.merge(learner.fork().learn(X[high], y[high]))
    assert learner.classes.tolist() == list(range(10))
    assert learner.tasks == 2
    assert (learner.predict(X) == y).mean() > 0.9


def test_merging_leaves_the_other_learner_unchanged(new_learner, digits, unchanged):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100])
    other = learner.fork().learn(X[100:200], y[100:200])
    with unchanged(other):
        learner.merge(other).learn(X[200:300], y[200:300])
    assert learner.samples == 300


def test_copies_of_an_empty_fork_can_all_be_merged(new_learner, digits):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100])
    fork = learner.fork()
    for part in (slice(100, 150), slice(150, 200)):
        learner.merge(copy.deepcopy(fork).learn(X[part], y[part]))
    assert learner.samples == 200


def test_a_new_learner_takes_over_a_merged_one(new_learner, digits):
    X, y = digits
    other = new_learner().learn(X[:100], y[:100])
    other.feature_names = [f"pixel {place}" for place in range(64)]
    learner = new_learner().merge(other)
    np.testing.assert_array_equal(learner.scores(X), other.scores(X))
    assert learner.feature_names == other.feature_names
    assert new_learner().merge(new_learner()).encoder is None


def test_merging_in_both_directions_at_once_does_not_deadlock(new_learner, digits):
    X, y = digits
    root = new_learner().learn(X[:50], y[:50])
    pairs = [(root.fork().learn(X[:50], y[:50]), root.fork().learn(X[50:100], y[50:100])) for _ in range(20)]
    start = threading.Barrier(2)

    def merge(here, there):
        for pair in pairs:
            start.wait()
            with contextlib.suppress(InputError):  # the second merge would count samples twice
                pair[here].merge(pair[there])

    threads = [threading.Thread(target=merge, args=places, daemon=True) for places in ((0, 1), (1, 0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert all(sorted(learner.samples for learner in pair) == [50, 100] for pair in pairs)


# ---------------------------------------------------------------------- refusals


def same_fork_twice(learner, fork, folder):
    learner.merge(fork)
    return learner, fork


def same_fork_with_more_samples(learner, fork, folder):
    learner.merge(fork)
    return learner, fork.learn([[9.0] * 64], [3])


def fork_of_a_merged_fork(learner, fork, folder):
    second = learner.fork().merge(fork)
    learner.merge(fork)
    return learner, second


def two_copies_of_a_file(learner, fork, folder):
    learner.save(folder / "model.if2")
    return type(learner).load(folder / "model.if2"), type(learner).load(folder / "model.if2")


def itself(learner, fork, folder):
    return learner, learner


@pytest.mark.parametrize(
    "case", [same_fork_twice, same_fork_with_more_samples, fork_of_a_merged_fork, two_copies_of_a_file, itself]
)
def test_samples_that_would_count_twice_are_refused(new_learner, digits, unchanged, tmp_path, case):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100])
    learner, other = case(learner, learner.fork().learn(X[100:150], y[100:150]), tmp_path)
    with unchanged(learner), pytest.raises(InputError, match="count twice"):
        learner.merge(other)


@pytest.mark.parametrize(
    ("different", "started"),
    [
        ({"seed": 1}, True),  # a new learner takes over the encoder of the other, whatever its own seed
        *itertools.product(
            [{"width": 50}, {"encoder": "linear"}, {"holdout": 0.3}, {"dtype": "float64"}], [True, False]
        ),
    ],
    ids=str,
)
def test_learners_with_different_encoders_or_statistics_are_not_merged(
    new_learner, digits, unchanged, different, started
):
    X, y = digits
    other = new_learner().learn(X[:50], y[:50])
    learner = new_learner(**different)
    if started:
        learner.learn(X[:50], y[:50])
    with unchanged(learner), unchanged(other), pytest.raises(InputError, match=r"different encoders|differ in"):
        learner.merge(other)


def test_learners_with_incomparable_labels_are_not_merged(new_learner, digits, unchanged):
    X, y = digits
    learner = new_learner().learn(X[:50], y[:50])
    other = learner.fork().learn(X[:50], y[:50].astype(str))
    with unchanged(learner), unchanged(other), pytest.raises(InputError, match="cannot be mixed"):
        learner.merge(other)


@pytest.mark.parametrize("settings", [{"rule": "gradient"}, {"rule": "ewc"}, {"representation": "per-task"}], ids=str)
def test_an_inexact_learner_refuses_to_merge(new_learner, digits, unchanged, settings):
    X, y = digits
    learner = new_learner(**settings, epochs=1).learn(X[:50], y[:50])
    with unchanged(learner), pytest.raises(ConfigurationError, match=r"^Only the analytic rule .* merge exactly"):
        learner.merge(learner.fork())
    empty = new_learner(**settings)
    with unchanged(empty), pytest.raises(ConfigurationError, match="Only the analytic rule"):
        empty.merge(new_learner().learn(X[:50], y[:50]))


def test_a_learner_without_data_cannot_be_forked(new_learner):
    with pytest.raises(InputError, match="cannot be forked"):
        new_learner().fork()
