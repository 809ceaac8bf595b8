"""The parts that the analytic methods share."""

import numpy as np
import pytest
import torch

from if2net.study.data import load_dataset
from if2net.study.methods.acil import ACIL
from if2net.study.methods.fecam import FeCAM
from if2net.study.methods.ncm import NearestClassMean
from if2net.study.methods.ranpac import RanPAC
from if2net.study.methods.slda import StreamingLDA

DIGITS = load_dataset("digits")
X, Y = DIGITS.train_X[:600], DIGITS.train_y[:600]
ANALYTIC = [NearestClassMean, StreamingLDA, FeCAM, RanPAC, ACIL]


def make(kind, width=90):
    settings = {"width": width} if kind in (RanPAC, ACIL) else {}
    return kind(64, 0, torch.device("cpu"), kind.Settings(**settings))


def learned(kind, parts):
    method = make(kind)
    for part in parts:
        method.learn(X[part], Y[part])
    return method


@pytest.mark.parametrize(
    "kind", [NearestClassMean, StreamingLDA, FeCAM, ACIL]
)  # not RanPAC: its ridge is the last task's
def test_the_classifier_does_not_depend_on_the_order_of_later_data(kind):
    first, second, third = np.array_split(np.arange(600), [100, 350])
    one, other = learned(kind, [first, second, third]), learned(kind, [first, np.concatenate([third, second])])
    for part, wanted in zip(one.solved, other.solved, strict=True):
        torch.testing.assert_close(part, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ANALYTIC)
def test_scores_of_a_sample_do_not_depend_on_its_batch(kind):
    method, seen = learned(kind, [np.arange(300), np.arange(300, 600)]), []
    scores = method.scores
    method.scores = lambda V: seen.append(scores(V)) or seen[-1]
    method.predict(X[:200])
    together = torch.cat(seen)[:200]
    for place in (0, 77, 128, 199):
        seen.clear()
        method.predict(X[place : place + 1])
        torch.testing.assert_close(seen[0][0], together[place], rtol=0, atol=0)


@pytest.mark.parametrize("kind", ANALYTIC)
def test_a_class_without_samples_is_never_predicted(kind):
    method = learned(kind, [np.flatnonzero((Y == 6) | (Y == 8))])
    assert set(method.predict(X)) == {6, 8}


@pytest.mark.parametrize("kind", [RanPAC, ACIL])
def test_the_random_layer_has_no_bias(kind):
    method = learned(kind, [np.arange(100)])
    neutral = method.encoder.standardiser.mean * 0
    method.encoder.standardiser.mean = neutral
    method.encoder.standardiser.power = 0.0
    assert bool((method.features(neutral[None]) == 0).all())


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        (NearestClassMean, 64 * 10),
        (StreamingLDA, 64 * 10 + 64 * 64),
        (FeCAM, 64 * 10 + 64 * 64 * 10 + 1),
        (RanPAC, 90 * 10 + 90 * 90 + 1),
        (ACIL, 90 * 10 + 90 * 90),
    ],
)
def test_the_state_counts_only_the_needed_statistics_in_the_precision_of_the_authors(kind, numbers):
    method = learned(kind, [np.arange(600)])
    frozen = sum(tensor.numel() * tensor.element_size() for _, tensor in method.encoder.tensors())
    each = 8 if kind is ACIL else 4
    assert method.costs().state_bytes == frozen + each * (numbers + 10)  # and ten counts


def test_the_state_holds_no_uninitialised_memory():
    method = make(RanPAC, width=1100)  # wider than one block, so that a part of G is never written
    method.learn(X, Y)
    G = method.tensors()["statistics.0.G"]
    assert len(G) == 1100
    assert torch.equal(G, torch.tril(G))
