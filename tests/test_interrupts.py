"""Ctrl-C in the middle of a change: the learner is the one that it was, or the one that it was to be."""

import os
import signal

import numpy as np
import pytest
import torch

from if2net import IF2Net, learner
from if2net.decision import analytic
from if2net.decision.statistics import Statistics
from if2net.encoder import DenseEncoder

WIDE = 60  # what counts as wide here, so that little data does


@pytest.fixture(autouse=True)
def narrow_is_wide(monkeypatch):
    monkeypatch.setattr(analytic, "WIDE", WIDE)
    monkeypatch.setitem(learner.COUNTING_BLOCK, "cpu", 40)


def samples(count, first=0, scale=1.0, features=80):
    y = np.arange(count) % 3
    random = np.random.default_rng(first)
    centres = np.random.default_rng(7).normal(size=(100, features))
    return scale * (centres[y + first] + random.normal(size=(count, features))), y + first


def learned(features=80, **settings):
    settings = {"encoder": "linear", "standardise": "none", "device": "cpu"} | settings
    return IF2Net(**settings).learn(*samples(600, features=features))


def interrupting(monkeypatch, kind, name, call=1):
    """Ctrl-C comes while this is called for the n-th time."""
    original, calls = getattr(kind, name), []

    def interrupted(*arguments, **named):
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)
        return original(*arguments, **named)

    monkeypatch.setattr(kind, name, interrupted)


def state(net):
    decision = net.decision
    return (
        [*net.labels.known, *decision.counts.tolist(), net.tasks],
        torch.tril(decision.G).clone(),
        decision.Q.clone(),
    )


def assert_same(net, before):
    after = state(net)
    assert after[0] == before[0]
    torch.testing.assert_close(after[1], before[1], rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(after[2], before[2], rtol=1e-5, atol=1e-3)


def test_a_few_samples_and_their_label_come_together(monkeypatch):
    net, whole = learned(), learned()
    net.predict(samples(2)[0])
    whole.learn(*samples(3, first=50))
    interrupting(monkeypatch, analytic.Analytic, "update")
    with pytest.raises(KeyboardInterrupt):
        net.learn(*samples(3, first=50))
    assert_same(net, state(whole))
    assert net.classes.tolist() == [0, 1, 2, 50, 51, 52]


@pytest.mark.parametrize("features", [WIDE - 20, WIDE + 20], ids=["aside", "in place"])
@pytest.mark.parametrize("call", [1, 3])
def test_a_task_is_not_learned_by_halves(features, call, monkeypatch):
    net = learned(features)
    before = state(net)
    interrupting(monkeypatch, DenseEncoder, "_encoded", call)
    with pytest.raises(KeyboardInterrupt):
        net.learn(*samples(150, first=10, features=features))
    assert_same(net, before)


def test_statistics_are_not_merged_by_halves(monkeypatch):
    net, whole = learned(WIDE - 20), learned(WIDE - 20)
    task = samples(150, first=10, features=WIDE - 20)
    whole.learn(*task)
    interrupting(monkeypatch, Statistics, "merge")
    with pytest.raises(KeyboardInterrupt):
        net.learn(*task)
    assert_same(net, state(whole))


def test_learners_are_not_merged_by_halves(monkeypatch):
    net, whole = learned(), learned()
    other = net.fork().learn(*samples(150, first=10))
    whole.merge(other)
    interrupting(monkeypatch, Statistics, "merge")
    with pytest.raises(KeyboardInterrupt):
        net.merge(other)
    assert_same(net, state(whole))


def test_samples_are_not_forgotten_by_halves(monkeypatch):
    net = learned()
    X, y = samples(600)
    before = state(net)
    interrupting(monkeypatch, DenseEncoder, "_encoded", call=3)
    with pytest.raises(KeyboardInterrupt):
        net.forget(X[:300], y[:300])
    assert_same(net, before)
    net.forget(X[:300], y[:300])
    assert net.decision.counts.tolist() == [100, 100, 100]


def test_what_is_interrupted_cannot_drown_what_was_there(monkeypatch):
    net = learned()
    X = samples(100, first=3)[0]
    before = net.scores(X)
    interrupting(monkeypatch, DenseEncoder, "_encoded", call=3)
    with pytest.raises(KeyboardInterrupt):
        net.learn(*samples(150, first=10, scale=1e5))
    torch.testing.assert_close(net.scores(X), before, rtol=1e-4, atol=1e-4)


def test_a_large_task_that_is_not_interrupted_is_learned():
    net = learned().learn(*samples(150, first=10, scale=1e5))
    aside = learned()
    aside.merge(aside.fork().learn(*samples(150, first=10, scale=1e5)))
    assert_same(net, state(aside))
