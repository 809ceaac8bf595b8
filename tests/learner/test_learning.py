"""Learning: classes appear at any time, and neither order nor blocks nor batches change the result."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from if2net import IF2Net
from if2net import learner as learner_module
from if2net.decision import analytic

# ---------------------------------------------------------------------- classes that appear


def test_classes_can_appear_at_any_time_and_stay_sorted(new_learner, digits):
    X, y = digits
    learner = new_learner()
    for label in (7, 2, 9):
        learner.learn(X[y == label], y[y == label])
    assert learner.classes.tolist() == [2, 7, 9]
    seen = np.isin(y, [2, 7, 9])
    assert (learner.predict(X[seen]) == y[seen]).mean() > 0.97


def test_a_single_class_is_always_predicted(new_learner, digits):
    X, _ = digits
    learner = new_learner().learn(X[:20], ["only"] * 20)
    assert set(learner.predict(X)) == {"only"}


def test_a_learner_can_start_with_a_single_sample(new_learner, digits):
    X, y = digits
    learner = new_learner().learn(X[:1], y[:1])
    assert learner.predict(X[:1]).tolist() == [y[0]]


def test_a_class_with_one_sample_is_learned(new_learner, digits):
    X, y = digits
    zeros, one = X[y == 0], X[y == 1][:1]
    learner = new_learner().learn(zeros, np.zeros(len(zeros), int)).learn(one, [1])
    assert learner.predict(one).tolist() == [1]
    assert (learner.predict(zeros) == 0).all()


def test_repeated_samples_in_a_batch_count_each_time(new_learner, digits):
    X, y = digits
    base = new_learner(dtype="float64", ridge=0.1).learn(X[:50], y[:50])
    apart = base.fork().learn(X[:2], y[:2]).learn(X[:2], y[:2])
    together = base.fork().learn(X[[0, 0, 1, 1]], y[[0, 0, 1, 1]])
    np.testing.assert_allclose(apart.scores(X), together.scores(X), rtol=1e-9, atol=1e-9)


def test_tasks_and_samples_are_counted(new_learner, digits):
    X, y = digits
    learner = new_learner()
    assert (learner.tasks, learner.samples) == (0, 0)
    learner.learn(X[:30], y[:30]).learn(X[30:50], y[30:50])
    assert (learner.tasks, learner.samples) == (2, 50)


@pytest.mark.parametrize("rule", ["analytic", "gradient", "ewc"])
def test_the_seed_determines_the_scores(new_learner, digits, rule):
    X, y = digits
    first, again, other = (
        new_learner(seed=seed, rule=rule, epochs=1).learn(X[:100], y[:100]).scores(X) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not torch.allclose(first, other, atol=1e-4)


# ---------------------------------------------------------------------- order and blocks


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(sizes=st.lists(st.integers(1, 80), min_size=1, max_size=7), seed=st.integers(0, 2**32 - 1))
def test_any_split_and_order_equals_learning_at_once(frozen, digits, assert_equal_learners, sizes, seed):
    X, y = digits
    order = np.random.default_rng(seed).permutation(len(X))[: sum(sizes)]
    split = frozen.fork()
    for part in np.split(order, np.cumsum(sizes)[:-1]):
        split.learn(X[part], y[part])
    at_once = frozen.fork().learn(X[np.sort(order)], y[np.sort(order)])
    assert_equal_learners(split, at_once)


def test_the_size_of_the_blocks_does_not_change_the_result(new_learner, digits, monkeypatch):
    X, y = digits
    base = new_learner(dtype="float64").learn(X[:100], y[:100])
    large_blocks = base.fork().learn(X, y)
    monkeypatch.setitem(learner_module.COUNTING_BLOCK, "cpu", 64)
    np.testing.assert_allclose(base.fork().learn(X, y).scores(X), large_blocks.scores(X), rtol=1e-9, atol=1e-9)


def test_a_wide_learner_learns_single_samples_in_place(new_learner, digits, monkeypatch):
    X, y = digits
    monkeypatch.setattr(analytic, "UPDATE_WIDTH", 10)
    one_by_one = new_learner().learn(X[:1000], y[:1000])
    for place in range(1000, 1010):
        one_by_one.learn(X[place : place + 1], y[place : place + 1])
        one_by_one.predict(X[:1])
    together = new_learner().learn(X[:1000], y[:1000]).learn(X[1000:1010], y[1000:1010])
    assert one_by_one.samples == together.samples == 1010
    assert (one_by_one.predict(X[1010:]) == together.predict(X[1010:])).mean() > 0.995


def test_an_encoder_starts_from_a_part_of_much_data(new_learner, monkeypatch):
    monkeypatch.setattr(learner_module, "STARTING_SAMPLES", 50)
    X, y = np.random.default_rng(0).normal(size=(180, 4)), np.arange(180) % 3
    learner = new_learner(encoder="wide", width=20).learn(X, y)
    quarter = new_learner(encoder="wide", width=20).learn(X[::4], y[::4])
    assert torch.equal(learner.encoder.standardiser.mean, quarter.encoder.standardiser.mean)
    assert learner.samples == 180


# ---------------------------------------------------------------------- batches


class RepeatableBatches:
    """Batches of the digits that can be iterated over any number of times, which is counted."""

    def __init__(self, X, y):
        self.batches = [(X[start : start + 300], y[start : start + 300]) for start in range(0, len(y), 300)]
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter(self.batches)


SMALL_PAPER = {"encoder": "paper", "layers": "5x4,10x5", "device": "cpu"}


@pytest.mark.parametrize("repeatable", [True, False], ids=["repeatable", "generator"])
def test_the_tweak_of_a_stream_equals_that_of_the_whole_data(digits, repeatable):
    X, y = digits
    batches = RepeatableBatches(X, y)
    streamed = IF2Net(**SMALL_PAPER, dtype="float64").learn(batches if repeatable else iter(batches))
    whole = IF2Net(**SMALL_PAPER, dtype="float64").learn(X, y)
    for a, b in zip(streamed.tweaks[0], whole.tweaks[0], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(streamed.scores(X), whole.scores(X), atol=1e-5)


def test_a_generator_may_use_the_memory_of_a_batch_again(digits):
    X, y = digits[0][:900].astype(np.float32), digits[1][:900]

    def batches():
        samples, labels = np.empty_like(X[:300]), np.empty_like(y[:300])
        for start in range(0, 900, 300):
            samples[:], labels[:] = X[start : start + 300], y[start : start + 300]
            yield samples, labels

    gathered, whole = IF2Net(**SMALL_PAPER).learn(batches()), IF2Net(**SMALL_PAPER).learn(X, y)
    assert torch.equal(gathered.scores(X), whole.scores(X))


def test_a_repeatable_stream_is_never_gathered_in_memory(digits, monkeypatch):
    batches, cat = RepeatableBatches(*digits), torch.cat

    def checked_cat(tensors, *arguments, **options):
        joined = cat(tensors, *arguments, **options)
        assert joined.shape[0] < len(digits[0])
        return joined

    monkeypatch.setattr(torch, "cat", checked_cat)
    IF2Net(**SMALL_PAPER).learn(batches)
    assert batches.passes >= 3  # one per layer, and one to learn


# ---------------------------------------------------------------------- gradient rules and the free share


def test_gradient_rules_report_every_epoch(new_learner, digits):
    X, y = digits
    reports = []
    learner = new_learner(rule="gradient", epochs=3).learn(X[:100], y[:100], reports.append)
    learner.learn(X[100:200], y[100:200], reports.append)
    assert [(report["task"], report["epoch"]) for report in reports] == [(t, e) for t in (0, 1) for e in (0, 1, 2)]
    assert all(report["loss"] >= 0 and 0 < report["free"] <= 1 for report in reports)


def test_the_free_share_shrinks_as_more_is_learned(new_learner, digits):
    X, y = digits
    learner = new_learner(ridge=1e-2).learn(X[:20], y[:20])
    before = learner.free_share()
    assert 0 < learner.learn(X, y).free_share() < before < 1
