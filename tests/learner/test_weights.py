"""Weights of samples: a sample of weight 2 counts as two equal ones, in everything that is learned."""

import numpy as np
import pytest
import torch

from if2net import IF2Net, IF2NetClassifier
from if2net.errors import InputError

SETTINGS = {"width": 100, "dtype": "float64"}


@pytest.fixture(scope="module")
def weights(digits):
    """Whole numbers from 0 to 3 for the first 400 digits."""
    return np.random.default_rng(0).integers(0, 4, 400)


@pytest.fixture(scope="module")
def repeated(digits, weights):
    return tuple(part[:400].repeat(weights, axis=0) for part in digits)


def assert_equal(one, other, X, rtol=1e-6):
    assert one.classes.tolist() == other.classes.tolist()
    assert one.decision.ridge == pytest.approx(other.decision.ridge, rel=1e-3)
    for name in ("scores", "probabilities", "novelty"):
        np.testing.assert_allclose(getattr(one, name)(X), getattr(other, name)(X), rtol=rtol, atol=10 * rtol)


@pytest.mark.parametrize(
    "settings",
    [{}, {"class_weight": "balanced"}, {"standardise": "feature"}, {"width": 2048, "dtype": "float32"}],
    ids=str,
)
def test_a_weight_is_as_many_equal_samples(new_learner, digits, weights, repeated, settings):
    X, y = digits
    settings = SETTINGS | {"ridge": 1e-2} | settings
    weighted = new_learner(**settings).learn(X[:400], y[:400], sample_weight=weights)
    expected = new_learner(**settings).learn(*repeated)
    # Random weights of pixels that never vary in the first data depend on its rounding.
    assert_equal(weighted, expected, repeated[0], 1e-3 if settings["dtype"] == "float32" else 1e-6)
    assert weighted.samples == np.count_nonzero(weights)


def test_the_chosen_ridge_is_that_of_repeated_samples(new_learner, digits, weights, repeated):
    weighted = new_learner(**SETTINGS).learn(digits[0][:400], digits[1][:400], sample_weight=weights)
    assert weighted.decision.ridge == pytest.approx(new_learner(**SETTINGS).learn(*repeated).decision.ridge, rel=1e-4)


def test_the_rounding_of_a_sum_of_weights_does_not_decide_whether_enough_is_held_out():
    random = np.random.default_rng(1)
    X = random.normal(size=(313, 6))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    once = IF2Net(width=100, device="cpu").learn(X, y, sample_weight=np.full(313, 0.2))
    weights = np.full(313, 0.2 * 10 / once.decision.held.weight)  # together exactly enough, up to rounding
    once = IF2Net(width=100, device="cpu").learn(X, y, sample_weight=weights)
    split = once.fork()
    for part in np.array_split(np.arange(313), 7):
        split.learn(X[part], y[part], sample_weight=weights[part])
    assert once.decision.held.weight == pytest.approx(10, rel=1e-12)
    assert split.decision.ridge == pytest.approx(once.decision.ridge, rel=1e-2) != 1e-3


def test_order_split_merge_and_forgetting_are_exact_with_weights(new_learner, digits):
    X, y = (part[:500] for part in digits)
    weights = np.random.default_rng(0).exponential(size=500)
    weights[::9] = 1
    base = new_learner(**SETTINGS, ridge=1e-2).learn(X[:100], y[:100])
    at_once = base.fork().learn(X, y, sample_weight=weights)
    backwards = base.fork().learn(X[250:], y[250:], sample_weight=weights[250:])
    backwards.learn([(X[:250], y[:250], weights[:250])])
    merged = base.fork().learn(X[:300], y[:300], sample_weight=weights[:300])
    merged.merge(base.fork().learn(X[300:], y[300:], sample_weight=weights[300:]))
    more = base.fork().learn(X, y, sample_weight=weights).learn(digits[0][500:600], digits[1][500:600])
    more.forget(digits[0][500:600], digits[1][500:600])
    for other in (backwards, merged, more):
        assert_equal(other, at_once, X, 1e-7)
    merged.forget(X[300:], y[300:], sample_weight=weights[300:])
    assert_equal(merged, base.fork().learn(X[:300], y[:300], sample_weight=weights[:300]), X, 1e-6)


def test_few_weighted_samples_of_a_wide_layer_are_added_exactly(new_learner, digits):
    X, y = digits
    weights = np.full(1500, 1.0)
    weights[1490:] = np.linspace(0.2, 3, 10)
    base = new_learner(width=2100, ridge=1e-2).learn(X[:300], y[:300])
    one_by_one = base.fork().learn(X[:1490], y[:1490])
    for place in range(1490, 1500):
        one_by_one.learn(X[place : place + 1], y[place : place + 1], sample_weight=weights[place : place + 1])
        one_by_one.scores(X[:1])
    at_once = base.fork().learn(X[:1500], y[:1500], sample_weight=weights)
    np.testing.assert_allclose(one_by_one.scores(X), at_once.scores(X), atol=2e-3)


def test_samples_are_forgotten_only_with_their_own_weights(new_learner, digits, unchanged):
    X, y = (part[:100] for part in digits)
    learner = new_learner(**SETTINGS).learn(X, y, sample_weight=np.linspace(0.5, 2, 100))
    for wrong in (None, np.full(100, 0.5), np.linspace(0.5, 2, 100)[::-1]):
        with unchanged(learner), pytest.raises(InputError, match="never learned with these labels and weights"):
            learner.forget(X[:50], y[:50], None if wrong is None else wrong[:50])


def test_forgetting_is_refused_where_the_weight_of_a_class_would_be_lost_in_rounding(new_learner, digits, unchanged):
    """The weight of 1e-12 is below the rounding of the others, and no file would have a class of weight 0."""
    X, y = digits[0][:300], digits[1][:300]
    weights = np.where(y == 0, 1e6, 1.0)
    zeros = np.flatnonzero(y == 0)
    weights[zeros[0]] = 1e-12
    learner = new_learner(dtype="float64").learn(X, y, sample_weight=weights)
    with unchanged(learner), pytest.raises(InputError, match="lost in rounding"):
        learner.forget(X[zeros[1:]], y[zeros[1:]], weights[zeros[1:]])
    learner.forget(X[zeros], y[zeros], weights[zeros])
    assert 0 not in learner.classes


def test_a_class_of_weight_zero_is_not_learned(new_classifier, digits):
    X, y = digits
    classifier = new_classifier().fit(X, y, sample_weight=y < 5)
    assert classifier.classes_.tolist() == [0, 1, 2, 3, 4]


def test_weights_survive_in_a_file(new_learner, digits, weights, tmp_path):
    X, y = (part[:400] for part in digits)
    learner = new_learner(**SETTINGS, class_weight="balanced").learn(X, y, sample_weight=weights + 0.5)
    learner.forget_class(3)
    learner.save(tmp_path / "model.if2")
    loaded = IF2Net.load(tmp_path / "model.if2")
    assert torch.equal(loaded.decision.total.weights, learner.decision.total.weights)
    assert loaded.decision.held.nameless_weight == learner.decision.held.nameless_weight > 0
    again = [net.learn(*(part[400:500] for part in digits)).probabilities(X) for net in (learner, loaded)]
    np.testing.assert_allclose(*again, rtol=1e-9)
    plain = new_learner(**SETTINGS).learn(X, y)
    assert "weights" not in plain.tensors()


@pytest.mark.parametrize("settings", [{"rule": "gradient"}, {"rule": "ewc"}, {"encoder": "paper"}], ids=str)
def test_rules_that_learn_sample_by_sample_repeat_samples(digits, settings, weights, repeated):
    X, y = digits
    settings |= {"width": 40, "device": "cpu", "epochs": 1, "batch_size": 2000, "ridge": 1e-2}
    weighted = IF2Net(**settings).learn([(X[:400], y[:400], weights)])
    expected = IF2Net(**settings).learn(*repeated)
    np.testing.assert_allclose(weighted.scores(X), expected.scores(X), rtol=1e-2, atol=1e-3)
    with pytest.raises(InputError, match="whole numbers"):
        IF2Net(**settings).learn(X[:400], y[:400], sample_weight=weights + 0.5)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1, np.nan], "NaN"),
        ([1, np.inf], "infinity"),
        ([1, -1], "negative"),
        ([0, 0], "zero"),
        ([1e-20, 1], "from 1e-12"),
        ([1, 1e9], "to 1e\\+06"),
        ([1], "shape"),
        ([[1], [2]], "shape"),
        (["a", "b"], "numbers"),
        ([None, 1], "NaN"),
        ([1 + 2j, 1], "numbers"),
    ],
    ids=str,
)
def test_bad_weights_change_nothing(new_learner, digits, unchanged, bad, message):
    X, y = digits
    learner = new_learner(**SETTINGS).learn(X[:50], y[:50])
    for action in (learner.learn, learner.forget):
        with unchanged(learner), pytest.raises(InputError, match=message):
            action(X[:2], y[:2], sample_weight=bad)
    with pytest.raises(InputError, match=message):
        IF2NetClassifier().fit(X[:2], y[:2], sample_weight=bad)


def test_gathered_batches_keep_their_weights(digits):
    X, y = digits[0][:400], digits[1][:400]
    weights = np.random.default_rng(0).uniform(0.5, 3, 200)
    settings = {"width": 40, "device": "cpu", "representation": "per-task"}
    gathered = IF2Net(**settings).learn([(X[:200], y[:200], weights), (X[200:], y[200:])])
    whole = IF2Net(**settings).learn(X, y, sample_weight=np.concatenate([weights, np.ones(200)]))
    assert torch.equal(gathered.scores(X, task=0), whole.scores(X, task=0))


def test_weights_beside_batches_are_refused(new_learner, digits):
    with pytest.raises(InputError, match="Batches have their own weights"):
        new_learner().learn([digits], sample_weight=[1.0])
