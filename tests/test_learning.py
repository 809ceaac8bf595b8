"""How a task is taken in: block by block, batch by batch, and not at all where something is wrong."""

import os
import signal
import threading

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from if2net import IF2Net, learner
from if2net.decision import analytic
from if2net.encoder import DenseEncoder
from if2net.interrupts import uninterrupted

X, y = load_digits(return_X_y=True)
BATCHES = [(X[start : start + 300], y[start : start + 300]) for start in range(0, len(y), 300)]


class Watched:
    """A list of batches that counts how often it is gone over."""

    def __init__(self):
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter(BATCHES)


@pytest.mark.parametrize("make", [Watched, lambda: iter(BATCHES)], ids=["repeatable", "generator"])
def test_the_tweak_of_a_stream_is_that_of_all_its_data(make):
    settings = {"encoder": "paper", "layers": "5x4,10x5", "dtype": "float64", "device": "cpu"}
    streamed, whole = IF2Net(**settings).learn(make()), IF2Net(**settings).learn(X, y)
    for a, b in zip(streamed.tweaks[0], whole.tweaks[0], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(streamed.scores(X), whole.scores(X), atol=1e-5)


def test_a_repeatable_stream_is_never_gathered_in_memory(monkeypatch):
    watched = Watched()
    monkeypatch.setattr(torch, "cat", forbid_whole_data(torch.cat))
    IF2Net(encoder="paper", layers="5x4,10x5", device="cpu").learn(watched)
    assert watched.passes >= 3  # one a layer, one to learn


def forbid_whole_data(cat):
    def watch(tensors, *arguments, **keywords):
        joined = cat(tensors, *arguments, **keywords)
        assert joined.shape[0] < len(X)
        return joined

    return watch


def test_samples_are_encoded_block_by_block_with_the_same_result(new_learner, digits, monkeypatch):
    X, y = digits
    base = new_learner(dtype="float64").learn(X[:100], y[:100])
    at_once = base.fork().learn(X, y)
    monkeypatch.setitem(learner.COUNTING_BLOCK, "cpu", 64)
    np.testing.assert_allclose(base.fork().learn(X, y).scores(X), at_once.scores(X), rtol=1e-9, atol=1e-9)


def interrupt_encoding(monkeypatch, call):
    """Raise KeyboardInterrupt in the given call of the encoder, and in no other."""
    encode, calls = DenseEncoder._encoded, []

    def interrupted(encoder, samples, layers):
        calls.append(len(samples))
        if len(calls) == call:
            raise KeyboardInterrupt
        return encode(encoder, samples, layers)

    monkeypatch.setattr(DenseEncoder, "_encoded", interrupted)


def test_a_learner_interrupted_half_way_is_the_one_it_was(new_learner, digits, unchanged, monkeypatch):
    X, y = digits
    monkeypatch.setitem(learner.COUNTING_BLOCK, "cpu", 40)
    net = new_learner().learn(X[:100], y[:100])
    interrupt_encoding(monkeypatch, 2)
    with unchanged(net), pytest.raises(KeyboardInterrupt):
        net.learn(X[100:300], y[100:300])
    monkeypatch.undo()
    assert net.learn(X[100:300], y[100:300]).decision.counts.sum() == 300


def test_a_wide_learner_takes_back_what_it_had_counted_when_it_was_interrupted(new_learner, monkeypatch):
    monkeypatch.setattr(analytic, "WIDE", 10)
    monkeypatch.setitem(learner.COUNTING_BLOCK, "cpu", 40)
    net = new_learner(dtype="float64").learn(X[y < 5][:300], y[y < 5][:300])
    before = net.scores(X)
    interrupt_encoding(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        net.learn(X, y)
    assert net.classes.tolist() == [0, 1, 2, 3, 4]
    assert net.decision.counts.sum() == 300
    torch.testing.assert_close(net.scores(X), before, rtol=1e-6, atol=1e-9)
    whole = new_learner(dtype="float64").learn(X[y < 5][:300], y[y < 5][:300]).learn(X, y)
    torch.testing.assert_close(net.learn(X, y).scores(X), whole.scores(X), rtol=1e-6, atol=1e-9)


def test_a_few_samples_for_a_wide_learner_are_learned_in_place_and_saved_whole(new_learner, tmp_path, monkeypatch):
    monkeypatch.setattr(analytic, "WIDE", 10)
    one_by_one, whole = new_learner(), new_learner()
    one_by_one.learn(X[:1000], y[:1000])
    for place in range(1000, 1010):
        one_by_one.learn(X[place : place + 1], y[place : place + 1])
        one_by_one.predict(X[:1])
    whole.learn(X[:1000], y[:1000])
    whole.learn(X[1000:1010], y[1000:1010])
    assert (one_by_one.predict(X[1010:]) == whole.predict(X[1010:])).mean() > 0.995
    one_by_one.save(tmp_path / "model.if2")
    loaded = type(one_by_one).load(tmp_path / "model.if2", device="cpu")
    np.testing.assert_array_equal(loaded.scores(X[1010:]).numpy(), one_by_one.scores(X[1010:]).numpy())


@pytest.fixture
def interruptible():
    """Also where the tests run in the background, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end_of_an_update(interruptible):
    done, stop = [], threading.Event()
    other = threading.Thread(target=stop.wait)  # a signal may reach any thread
    other.start()

    def update():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.extend(range(1000))

    with pytest.raises(KeyboardInterrupt):
        update()
    stop.set()
    other.join()
    assert len(done) == 1000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_update_in_another_thread_goes_on_as_it_is(interruptible):
    done = []

    def update():
        with uninterrupted():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=update)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]


def test_an_encoder_starts_from_some_of_much_data(new_learner, monkeypatch):
    monkeypatch.setattr(learner, "STARTING_SAMPLES", 50)
    X, y = np.random.default_rng(0).normal(size=(180, 4)), np.arange(180) % 3
    net = new_learner(encoder="wide", width=20).learn(X, y)
    few = new_learner(encoder="wide", width=20).learn(X[::4], y[::4])
    assert torch.equal(net.encoder.standardiser.mean, few.encoder.standardiser.mean)
    assert int(net.decision.counts.sum()) == 180
