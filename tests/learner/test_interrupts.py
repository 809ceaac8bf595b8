"""Ctrl-C during a change: the learner is unchanged, or the change is complete."""

import os
import signal
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
import torch

from if2net import IF2Net
from if2net import learner as learner_module
from if2net.decision import analytic, statistics
from if2net.decision.statistics import Statistics
from if2net.encoder import DenseEncoder
from if2net.errors import NumericalError

WIDE = 60  # instead of 2,048, so that the tests of wide layers stay small
NARROW_FEATURES, WIDE_FEATURES = WIDE - 20, WIDE + 20


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch):
    monkeypatch.setattr(analytic, "UPDATE_WIDTH", WIDE)
    monkeypatch.setitem(learner_module.COUNTING_BLOCK, "cpu", 40)


def task(count, first=0, scale=1.0, features=WIDE_FEATURES):
    """Samples of three classes, numbered from `first`."""
    y = np.arange(count) % 3
    random = np.random.default_rng(first)
    centres = np.random.default_rng(7).normal(size=(100, features))
    return scale * (centres[y + first] + random.normal(size=(count, features))), y + first


def learned(features=WIDE_FEATURES):
    return IF2Net(encoder="linear", standardise="none", device="cpu").learn(*task(600, features=features))


def send_interrupt(monkeypatch, owner, name, call=1):
    """Send Ctrl-C at the given call of a method."""
    original, calls = getattr(owner, name), []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)


def state(learner):
    decision = learner.decision
    return (
        [*learner.labels.known, *decision.total.counts.tolist(), learner.tasks],
        torch.tril(decision.total.G).clone(),
        decision.total.Q.clone(),
    )


def assert_state(learner, expected):
    actual = state(learner)
    assert actual[0] == expected[0]
    torch.testing.assert_close(actual[1], expected[1], rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(actual[2], expected[2], rtol=1e-5, atol=1e-3)


# ---------------------------------------------------------------------- learning


@pytest.mark.parametrize("features", [NARROW_FEATURES, WIDE_FEATURES], ids=["aside", "in place"])
@pytest.mark.parametrize("call", [1, 3])
def test_an_interrupted_task_is_not_learned_at_all(features, call, monkeypatch):
    learner = learned(features)
    before = state(learner)
    with monkeypatch.context() as patch:
        send_interrupt(patch, DenseEncoder, "_encoded", call)
        with pytest.raises(KeyboardInterrupt):
            learner.learn(*task(150, first=10, features=features))
    assert_state(learner, before)
    learner.learn(*task(150, first=10, features=features))
    assert_state(learner, state(learned(features).learn(*task(150, first=10, features=features))))


def test_an_interrupted_first_task_leaves_the_learner_unfitted(monkeypatch):
    learner = IF2Net(encoder="linear", device="cpu")
    send_interrupt(monkeypatch, DenseEncoder, "_encoded", call=3)
    with pytest.raises(KeyboardInterrupt):
        learner.learn(*task(600))
    assert learner.encoder is None
    assert learner.samples == learner.tasks == 0


def test_an_interrupt_during_the_update_with_a_few_samples_comes_after_it(monkeypatch):
    learner, whole = learned(), learned()
    learner.predict(task(2)[0])
    whole.learn(*task(3, first=50))
    send_interrupt(monkeypatch, analytic.Analytic, "update")
    with pytest.raises(KeyboardInterrupt):
        learner.learn(*task(3, first=50))
    assert_state(learner, state(whole))
    assert learner.classes.tolist() == [0, 1, 2, 50, 51, 52]


def test_an_interrupted_prediction_does_not_count_waiting_samples_twice(monkeypatch):
    monkeypatch.setattr(statistics, "WIDE_LAYER", WIDE)
    learner, whole = (learned().learn(*task(3, first=50)) for _ in range(2))
    with monkeypatch.context() as patch:
        send_interrupt(patch, statistics, "_with_gram")
        with pytest.raises(KeyboardInterrupt):
            learner.predict(task(2)[0])
    assert_state(learner, state(whole))


def test_an_interrupt_during_the_merge_of_statistics_comes_after_it(monkeypatch):
    learner, whole = learned(NARROW_FEATURES), learned(NARROW_FEATURES)
    samples = task(150, first=10, features=NARROW_FEATURES)
    whole.learn(*samples)
    send_interrupt(monkeypatch, Statistics, "merge")
    with pytest.raises(KeyboardInterrupt):
        learner.learn(*samples)
    assert_state(learner, state(whole))


def test_undoing_much_larger_samples_leaves_no_rounding_errors(monkeypatch):
    learner = learned()
    X = task(100, first=3)[0]
    before = learner.scores(X)
    send_interrupt(monkeypatch, DenseEncoder, "_encoded", call=3)
    with pytest.raises(KeyboardInterrupt):
        learner.learn(*task(150, first=10, scale=1e5))
    torch.testing.assert_close(learner.scores(X), before, rtol=1e-4, atol=1e-4)


def test_much_larger_samples_are_learned_where_nothing_interrupts():
    learner = learned().learn(*task(150, first=10, scale=1e5))
    merged = learned()
    merged.merge(merged.fork().learn(*task(150, first=10, scale=1e5)))
    assert_state(learner, state(merged))


@pytest.mark.parametrize("rule", ["gradient", "ewc"])
@pytest.mark.parametrize("projector", ["exact", "recursive"])
def test_an_interrupted_gradient_rule_learns_nothing_of_the_task(new_learner, digits, unchanged, rule, projector):
    X, y = digits
    learner = new_learner(rule=rule, projector=projector, epochs=3).learn(X[:100], y[:100] % 5)

    def interrupt(progress):
        if progress["epoch"] == 1:
            raise KeyboardInterrupt

    with unchanged(learner), pytest.raises(KeyboardInterrupt):
        learner.learn(X[100:200], y[100:200], interrupt)


# ---------------------------------------------------------------------- forgetting and merging


def test_an_interrupted_forget_removes_nothing(monkeypatch):
    learner = learned()
    X, y = task(600)
    before = state(learner)
    send_interrupt(monkeypatch, DenseEncoder, "_encoded", call=3)
    with pytest.raises(KeyboardInterrupt):
        learner.forget(X[:300], y[:300])
    assert_state(learner, before)
    learner.forget(X[:300], y[:300])
    assert learner.decision.total.counts.tolist() == [100, 100, 100]


def test_an_interrupt_during_the_subtraction_comes_after_it(monkeypatch):
    learner = learned()
    X, y = task(600)
    send_interrupt(monkeypatch, Statistics, "take_out")
    with pytest.raises(KeyboardInterrupt):
        learner.forget(X[y == 1], y[y == 1])
    assert learner.classes.tolist() == [0, 2]
    assert learner.decision.total.counts.tolist() == [200, 200]
    assert learner.decision.held.classes == 2


def test_an_interrupt_during_a_merge_comes_after_it(monkeypatch):
    learner, whole = learned(), learned()
    other = learner.fork().learn(*task(150, first=10))
    whole.merge(other)
    send_interrupt(monkeypatch, Statistics, "merge")
    with pytest.raises(KeyboardInterrupt):
        learner.merge(other)
    assert_state(learner, state(whole))


def test_a_handler_of_the_program_is_called_at_once_and_learning_goes_on(monkeypatch):
    received = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        learner = learned()
        other = learner.fork().learn(*task(150, first=10))
        send_interrupt(monkeypatch, Statistics, "merge")
        learner.merge(other)
    finally:
        signal.signal(signal.SIGINT, before)
    assert received == [signal.SIGINT]
    assert learner.samples == 750


# ---------------------------------------------------------------------- errors in the middle of a change


def fail(monkeypatch, owner, name, call):
    """Let the given call of a function fail, as where memory is short."""
    original, calls = getattr(owner, name), []

    def failing(*arguments, **options):
        calls.append(1)
        if len(calls) == call:
            raise MemoryError("no memory is left")
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, failing)


CHANGES = {
    "learning in place": lambda learner: learner.learn(*task(300, first=10)),
    "learning a few samples": lambda learner: learner.learn(*task(3, first=10)).predict(task(2)[0]),
    "forgetting": lambda learner: learner.forget(*task(600)),
    "merging": lambda learner: learner.merge(learner.fork().learn(*task(300, first=10))),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["_with_gram", "_with_class_sums", "add_triangle"])
@pytest.mark.parametrize("call", range(1, 8))
def test_after_an_error_in_a_change_a_learner_is_unchanged_or_refuses_to_be_used(change, name, call, monkeypatch):
    monkeypatch.setattr(statistics, "WIDE_LAYER", WIDE)
    learner, whole = (learned().learn(*task(300, first=6)) for _ in range(2))
    before = learner.scores(task(90)[0])
    with monkeypatch.context() as patch:
        fail(patch, statistics, name, call)
        try:
            CHANGES[change](learner)
        except MemoryError:
            pass
        else:
            return
    refused = pytest.raises(NumericalError, match="Load the model from its file")
    if learner.decision.total.whole:
        torch.testing.assert_close(learner.scores(task(90)[0]), before, rtol=1e-4, atol=1e-4)
        CHANGES[change](learner)
        CHANGES[change](whole)
        assert_state(learner, state(whole))
        return
    for use in (lambda: learner.save("never.if2"), *(partial(again, learner) for again in CHANGES.values())):
        with refused:
            use()
    with suppress(NumericalError):  # otherwise the solution from before the change serves
        torch.testing.assert_close(learner.scores(task(90)[0]), before, rtol=1e-4, atol=1e-4)
