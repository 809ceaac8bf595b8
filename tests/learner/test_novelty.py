"""Samples of unknown classes are recognised, the same after any order of learning, merging and forgetting."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from if2net import IF2Net, IF2NetClassifier
from if2net.decision import layer
from if2net.errors import ConfigurationError, IF2NetError, InputError


@pytest.fixture(scope="module")
def halves(digits):
    """The digits below five: those to learn and others, each with their classes; and the other digits."""
    X, y = (part[np.random.default_rng(0).permutation(len(part))] for part in digits)
    known = y < 5
    return X[known][:600], y[known][:600], X[known][600:], y[known][600:], X[~known]


@pytest.fixture(scope="module")
def learner(new_learner, halves):
    return new_learner(width=300, dtype="float64").learn(*halves[:2])


def separation(learner, known, unknown):
    """Return the AUROC of the novelty."""
    values = np.concatenate([learner.novelty(known), learner.novelty(unknown)])
    return roc_auc_score(np.repeat([0, 1], [len(known), len(unknown)]), values)


def rejected(learner, X, share):
    return np.mean([prediction is None for prediction in learner.predict(X, unknown=share)])


def test_unknown_digits_are_more_novel_than_known_ones(learner, halves):
    _, _, known, _, unknown = halves
    assert separation(learner, known, unknown) > 0.97


def test_few_known_and_most_unknown_samples_are_rejected(learner, halves):
    _, _, known, _, unknown = halves
    assert 0.02 < rejected(learner, known, 0.1) < 0.2
    assert rejected(learner, unknown, 0.1) > 0.9
    assert rejected(learner, known, 0.01) <= rejected(learner, known, 0.1)


def shares_rejected(new, X, y):
    """Return the shares of known samples rejected where 5 and 10 % are asked for, as means over three thirds."""
    third = np.random.default_rng(0).permutation(len(y)) % 3
    learners = [new().learn(X[third != part], y[third != part]) for part in range(3)]
    return [
        np.mean([rejected(one, X[third == part], share) for part, one in enumerate(learners)])
        for share in (0.05, 0.1)
    ]


def test_the_share_rejected_is_close_to_the_one_asked_for(new_learner, digits):
    for settings in ({"width": 300}, {"encoder": "linear"}):
        shares = shares_rejected(lambda settings=settings: new_learner(**settings), *digits)
        assert shares == pytest.approx([0.05, 0.1], rel=0.6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("distance", [10, 100, 1000])
def test_classes_far_apart_can_be_told_from_others(dtype, classes, distance):
    """In float32, their scatter is below the rounding of G."""
    random, y = np.random.default_rng(0), np.arange(1000) % (classes + 1)
    means = random.normal(size=(classes + 1, 20)) * distance / np.sqrt(40)
    X, others = (means[y] + random.normal(size=(1000, 20)) for _ in range(2))
    known = y < classes
    learner = IF2Net(seed=0, device="cpu", dtype=dtype).learn(X[known], y[known])
    assert rejected(learner, others[known], 0.05) < 0.15
    assert rejected(learner, others[~known], 0.05) > 0.9


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("distance", [100, 10_000, 100_000])
def test_samples_far_beyond_two_classes_are_rejected(dtype, distance):
    """The terms of the distance nearly cancel, and scores grow with the distance from the classes."""
    for seed in range(6):
        random, y = np.random.default_rng(seed), np.repeat([0, 1], 200)
        direction = random.normal(size=5)
        means = random.normal(size=5) + [[0], [distance]] * direction / np.linalg.norm(direction)
        X, known = (means[y] + random.normal(size=(400, 5)) for _ in range(2))
        beyond = means[y] + 3.3 * (means[y] - means[1 - y]) + random.normal(size=(400, 5))
        classifier = IF2NetClassifier(width=300, dtype=dtype, random_state=seed, device="cpu").fit(X, y)
        assert rejected(classifier, known, 0.05) < 0.15
        assert rejected(classifier, beyond, 0.05) > 0.95


def test_accepted_samples_keep_their_prediction_and_rejected_ones_have_none(learner, halves):
    X = np.concatenate([halves[2], halves[4]])
    predicted, plain = learner.predict(X, unknown=0.05), learner.predict(X)
    assert predicted.dtype == object
    accepted = np.array([prediction is not None for prediction in predicted])
    assert 0 < accepted.sum() < len(X)
    np.testing.assert_array_equal(predicted[accepted], plain[accepted])


def test_a_class_may_be_called_anything(halves):
    X, y, known, *_ = halves
    names = np.array(["None", "unknown", "", "nan", "-1"])
    classifier = IF2NetClassifier(width=100, random_state=0, device="cpu").fit(X, names[y])
    predicted = classifier.predict(known, unknown=0.1)
    assert set(predicted) == {*names, None}
    np.testing.assert_array_equal(classifier.novelty(known), classifier.learner_.novelty(known).numpy())


def test_novelty_depends_on_the_sample_and_the_model_alone(learner, halves):
    X = halves[4][:150]
    novelty, predicted = learner.novelty(X), learner.predict(X, unknown=0.3)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(learner.novelty(X[order]), novelty[order])
    np.testing.assert_array_equal([learner.novelty(X[i : i + 1])[0] for i in range(9)], novelty[:9])
    np.testing.assert_array_equal(learner.predict(X[order], unknown=0.3), predicted[order])


def test_order_merging_and_forgetting_do_not_change_the_novelty(learner, halves):
    X, y, known, _, unknown = halves
    samples = np.concatenate([known, unknown])
    last_first, other = learner.fork().learn(X[300:], y[300:]), learner.fork().learn(X[:300], y[:300])
    more = learner.fork().learn(X, y).learn(known, halves[3])
    more.forget(known, halves[3])
    expected, limit = learner.novelty(samples), learner._with_novelty()[1].limit(0.05)
    for again in (last_first.merge(other), more):
        np.testing.assert_allclose(again.novelty(samples), expected, rtol=1e-6, atol=1e-6)
        assert again._with_novelty()[1].limit(0.05) == pytest.approx(limit, rel=1e-6)


def test_the_order_of_the_classes_does_not_change_probabilities_or_novelty(learner, halves):
    X, y, known, _, unknown = halves
    samples, other = np.concatenate([known, unknown]), learner.fork()
    for label in (3, 0, 4, 1, 2):
        other.learn(X[y == label], y[y == label])
    assert other.labels.known != learner.labels.known
    np.testing.assert_allclose(other.probabilities(samples), learner.probabilities(samples), atol=1e-9)
    np.testing.assert_allclose(other.novelty(samples), learner.novelty(samples), atol=1e-6)
    assert list(other.predict(samples, unknown=0.05)) == list(learner.predict(samples, unknown=0.05))


def assert_same_novelty_in_another_order(X, y, dtype):
    frozen = IF2Net(seed=0, device="cpu", width=100, dtype=dtype).learn(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    one, other = frozen.fork().learn(X, y), frozen.fork()
    for part in np.array_split(order, 5):
        other.learn(X[part], y[part])
    new = X + np.random.default_rng(2).normal(size=X.shape)
    values = one.novelty(new).numpy()
    tolerance = {"float32": 1e-2, "float64": 1e-6}[dtype] * np.abs(values).max()
    np.testing.assert_allclose(other.novelty(new), values, rtol=0, atol=tolerance)
    limits = [learner._with_novelty()[1].limit(0.05) for learner in (one, other)]
    assert limits[0] == pytest.approx(limits[1], abs=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_order_of_classes_of_one_sample_each_does_not_change_the_novelty(dtype):
    """They have no scatter around their means, only the rounding of G."""
    X = np.random.default_rng(0).normal(size=(150, 5))
    X[:5] *= 100
    assert_same_novelty_in_another_order(X, np.arange(150), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_order_of_samples_whose_scores_are_alike_does_not_change_the_novelty(dtype):
    """All samples that are held out are equal, and so are all others."""
    X, y = np.arange(150)[:, None] % 2.0, np.arange(150) // 2 % 2
    assert_same_novelty_in_another_order(X, y, dtype)


def test_the_order_of_equal_samples_does_not_change_the_novelty():
    """They have no distances, only rounding, which is not divided by itself."""
    X, y = np.full((400, 1), 7.3), np.random.default_rng(0).integers(0, 5, 400)
    frozen = IF2Net(seed=0, device="cpu", encoder="linear", dtype="float64").learn(X, y)
    values = []
    for seed in range(3):
        learner = frozen.fork()
        for part in np.array_split(np.random.default_rng(seed).permutation(400), 9):
            learner.learn(X[part], y[part])
        values.append(float(learner.novelty(X[:1] + 1)))
    assert values[1:] == pytest.approx(2 * values[:1], rel=1e-6)


def test_a_class_is_no_longer_novel_when_it_has_been_learned(learner, halves, digits):
    X, y = digits
    again = learner.fork().learn(*halves[:2])
    assert rejected(again, halves[4], 0.05) > 0.9
    assert rejected(again.learn(X[y >= 5], y[y >= 5]), halves[4], 0.05) < 0.2


def test_a_loaded_model_has_the_same_novelty(learner, halves, tmp_path):
    learner.save(tmp_path / "model.if2")
    loaded = IF2Net.load(tmp_path / "model.if2", device="cpu")
    np.testing.assert_allclose(loaded.novelty(halves[4]), learner.novelty(halves[4]), rtol=1e-9)


def test_plain_predictions_do_not_derive_the_novelty(learner, halves):
    again = learner.fork().learn(*halves[:2])
    again.predict(halves[2])
    again.probabilities(halves[2])
    assert again._state.solution.novelty is None


def test_a_wide_layer_takes_some_of_its_features(new_learner, halves, monkeypatch):
    monkeypatch.setattr(layer, "CHOOSING_FEATURES", 30)
    X, y, known, _, unknown = halves
    learner = new_learner(width=200).learn(X, y)
    assert learner.decision.held.width < 70
    assert separation(learner, known, unknown) > 0.9
    assert rejected(learner, known, 0.1) < 0.3


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, 5, "0.05", True, float("nan")])
def test_a_share_outside_0_and_1_is_refused(learner, halves, share):
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        learner.predict(halves[2], unknown=share)


def test_models_that_cannot_tell_say_so(new_learner, learner, halves):
    X, y, known, *_ = halves
    with pytest.raises(InputError, match="must be held out"):
        new_learner(holdout=0.0).learn(X, y).predict(known, unknown=0.05)
    same, names = np.repeat(X[:2], 50, axis=0), np.repeat([0, 1], 50)
    with pytest.raises(InputError, match="learn more different samples"):
        new_learner().learn(same, names).predict(known, unknown=0.05)
    with pytest.raises(ConfigurationError, match="Only the analytic rule"):
        new_learner(rule="gradient", epochs=1).learn(X, y).novelty(known)
    with pytest.raises(IF2NetError, match="only predicts"):
        learner.predictor().novelty(known)
    with pytest.raises(InputError, match="Nothing has been learned"):
        IF2Net().novelty(known)
