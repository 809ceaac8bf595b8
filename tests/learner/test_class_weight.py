"""Weights of the classes change the solution and nothing that is learned."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score

from if2net import IF2Net, IF2NetClassifier, load
from if2net.errors import ConfigurationError

SETTINGS = {"device": "cpu", "dtype": "float64", "width": 60}


@pytest.fixture(scope="module")
def unequal():
    """Return 600 samples of three classes, 90, 8 and 2 %."""
    return make_classification(
        600, 10, n_informative=6, n_classes=3, weights=[0.9, 0.08, 0.02], flip_y=0, random_state=0
    )


def test_it_equals_weights_of_the_samples_where_all_classes_spread_alike():
    random = np.random.default_rng(0)
    residuals = random.normal(size=(20, 4))
    residuals -= residuals.mean(axis=0)
    X = np.concatenate([np.tile(residuals, (copies, 1)) + mean for copies, mean in ((5, 0.0), (2, 1.0), (1, -1.5))])
    y = np.repeat([0, 1, 2], [100, 40, 20])
    net = IF2Net(**SETTINGS, encoder="linear", standardise="none", ridge=1e-2, class_weight="balanced").learn(X, y)
    V, weights = np.c_[X, np.ones(len(X))], (len(y) / (3 * np.bincount(y)))[y]
    alpha = 1e-2 * (weights @ (V**2).sum(axis=1)) / V.shape[1]
    ridge = Ridge(alpha=alpha, fit_intercept=False).fit(V, np.eye(3)[y], sample_weight=weights)
    np.testing.assert_allclose(net.scores(X), ridge.predict(V), rtol=1e-8, atol=1e-10)


def test_it_changes_nothing_where_the_classes_have_one_size(digits):
    X, y = digits
    rows = np.concatenate([np.flatnonzero(y == label)[:30] for label in range(10)])
    plain, balanced = (
        IF2Net(**SETTINGS, ridge=1e-2, class_weight=w).learn(X[rows], y[rows]) for w in (None, "balanced")
    )
    np.testing.assert_allclose(plain.scores(X), balanced.scores(X), atol=1e-9)


def test_rare_classes_are_found_more_often(unequal):
    X, y = unequal
    plain, balanced = (IF2Net(device="cpu", class_weight=w).learn(X[::2], y[::2]) for w in (None, "balanced"))
    scores = [balanced_accuracy_score(y[1::2], net.predict(X[1::2])) for net in (plain, balanced)]
    assert scores[1] > scores[0] + 0.05


def test_it_is_exact_under_order_merging_and_forgetting(unequal):
    X, y = unequal
    base = IF2Net(**SETTINGS, class_weight="balanced").learn(X[:100], y[:100])
    order = np.random.default_rng(0).permutation(len(X))
    merged = base.fork().learn(X[order[:250]], y[order[:250]])
    merged.merge(base.fork().learn(X[order[250:]], y[order[250:]])).forget(X[:50], y[:50])
    at_once = base.fork().learn(X[50:], y[50:])
    np.testing.assert_allclose(merged.scores(X), at_once.scores(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(merged.probabilities(X), at_once.probabilities(X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("weight", ["balanced", {0: 1, 1: 3.5}], ids=str)
@pytest.mark.parametrize("rule", ["analytic", "gradient"])
def test_it_can_be_changed_for_a_learned_model_and_is_stored(new_classifier, unequal, tmp_path, weight, rule):
    X, y = unequal
    from_the_start = new_classifier(config={"rule": rule}, class_weight=weight).fit(X, y)
    switched = new_classifier(config={"rule": rule}).fit(X, y)
    before = switched.decision_function(X)
    switched.set_params(class_weight=weight)
    np.testing.assert_array_equal(switched.decision_function(X), from_the_start.decision_function(X))
    switched.save(tmp_path / "model.if2")
    again = load(tmp_path / "model.if2", device="cpu")
    assert again.class_weight == weight
    np.testing.assert_array_equal(again.decision_function(X), from_the_start.decision_function(X))
    np.testing.assert_array_equal(again.set_params(class_weight=None).decision_function(X), before)


# Keys that cannot be labels: of no kind of label, of two kinds, or text where the labels are numbers.
NO_LABELS = [{None: 1}, {(0,): 1}, {b"0": 1}, {1j: 1}, {float("nan"): 1}, {"1": 2, 1: 2}, {"1": 30.0}]


@pytest.mark.parametrize(
    "weight", ["balance", {0: 0.0}, {0: "much"}, {0: [1, 2]}, {0: object}, 3, [["a"]], *NO_LABELS], ids=str
)
def test_other_weights_are_refused(new_classifier, unequal, unchanged, weight):
    X, y = unequal
    classifier = new_classifier().fit(X, y)
    with unchanged(classifier), pytest.raises(ConfigurationError, match="class_weight"):
        classifier.set_params(class_weight=weight)
    with pytest.raises(ConfigurationError, match="class_weight"):
        new_classifier(class_weight=weight).fit(X, y)


@pytest.mark.parametrize("solved", [True, False])
@pytest.mark.parametrize("names", [{0: "a", 1: "b", 2: "c"}, {1: 2, 2: 1}])
def test_the_weight_of_a_class_goes_with_its_new_name(new_classifier, unequal, tmp_path, solved, names):
    X, y = unequal
    classifier = new_classifier(class_weight={1: 30.0}).fit(X, y)
    expected = new_classifier(class_weight={1: 30.0}).fit(X, y).partial_fit(X[:1], y[:1]).predict(X)
    if solved:
        classifier.predict(X)
    named = np.array([names.get(label, label) for label in y.tolist()])
    classifier.rename(names).partial_fit(X[:1], named[:1])
    assert classifier.get_params()["class_weight"] == {names[1]: 30.0}
    classifier.save(tmp_path / "model.if2")
    for model in (classifier, load(tmp_path / "model.if2", device="cpu")):
        assert model.predict(X).tolist() == [names.get(label, label) for label in expected.tolist()]


@pytest.mark.parametrize("weights", [{7: 2.0}, {1: 30.0, 7: 2.0}, {7: 2.0, 1: 30.0}], ids=str)
def test_a_renamed_class_keeps_its_weight_where_the_new_name_had_another(new_classifier, unequal, weights):
    X, y = unequal
    classifier = new_classifier(class_weight=weights).fit(X, y)
    scores = classifier.decision_function(X)[:, 1]
    classifier.rename(1, 7)
    assert classifier.get_params()["class_weight"] == ({7: 30.0} if 1 in weights else {})
    classifier.partial_fit(X[:1], [9]).forget(X[:1], [9])  # it is solved again
    np.testing.assert_allclose(classifier.decision_function(X)[:, 2], scores, atol=1e-4)


@pytest.mark.parametrize("weight", [{True: 3}, {np.int64(1): np.float32(3)}, {1.0: np.array(3)}], ids=str)
@pytest.mark.parametrize("kind", [int, bool])
def test_numbers_of_every_type_name_the_same_class(new_classifier, unequal, weight, kind):
    X, y = unequal[0], (unequal[1] > 0).astype(kind)
    expected = new_classifier(class_weight={1: 3.0}).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(new_classifier(class_weight=weight).fit(X, y).decision_function(X), expected)


def test_numbers_do_not_weigh_classes_with_text_names(new_classifier, unequal, unchanged):
    X, y = unequal[0], unequal[1].astype(str)
    classifier = new_classifier(class_weight={"1": 2}).fit(X, y)
    with unchanged(classifier), pytest.raises(ConfigurationError, match="such as 1, but the labels are such as '0'"):
        classifier.set_params(class_weight={1: 2})


TEXT_WEIGHTS = {"class_weight": '[["1", 30.0]]'}
WAYS_TO_LEARN = {
    "at once": lambda X, y: IF2Net(**SETTINGS, **TEXT_WEIGHTS).learn(X, y),
    "batches": lambda X, y: IF2Net(**SETTINGS, **TEXT_WEIGHTS).learn([(X, y)]),
    "batches of a gradient rule": lambda X, y: IF2Net(**SETTINGS, **TEXT_WEIGHTS, rule="gradient").learn([(X, y)]),
    "merging": lambda X, y: IF2Net(**SETTINGS, **TEXT_WEIGHTS).merge(IF2Net(**SETTINGS).learn(X, y)),
    "fit with batches": lambda X, y: IF2NetClassifier(device="cpu", class_weight={"1": 30.0}).fit([(X, y)]),
}


@pytest.mark.parametrize("way", WAYS_TO_LEARN)
def test_text_does_not_weigh_numbers_however_they_are_learned(unequal, way):
    with pytest.raises(ConfigurationError, match="such as '1', but the labels are such as 0; write both as text"):
        WAYS_TO_LEARN[way](*unequal)


@pytest.mark.parametrize("batches", [False, True])
def test_a_class_that_comes_later_can_have_a_weight(unequal, batches):
    X, y = unequal
    early, late = y < 2, y == 2
    net, expected = (IF2Net(**SETTINGS, class_weight="[[2, 5.0]]") for _ in range(2))
    for some in (early, late):
        net.learn(*([[(X[some], y[some])]] if batches else [X[some], y[some]]))
        expected.learn(X[some], y[some])
    np.testing.assert_allclose(net.scores(X), expected.scores(X), atol=1e-9)
    expected.weigh_classes(None)
    assert not np.allclose(net.scores(X), expected.scores(X), atol=1e-3)


def test_weights_of_another_kind_leave_a_learner_unchanged(unequal, unchanged):
    X, y = unequal
    net = IF2Net(**SETTINGS, class_weight="[[1, 2.0], [7, 3.0]]").learn(X, y)
    before = net.config
    with unchanged(net), pytest.raises(ConfigurationError, match="such as '1', but the labels are such as 0"):
        net.weigh_classes('[["1", 30.0]]')
    with unchanged(net), pytest.raises(ConfigurationError, match="such as 7, but the labels are such as 'a'"):
        net.rename({0: "a", 1: "b", 2: "c"})
    assert net.config == before
