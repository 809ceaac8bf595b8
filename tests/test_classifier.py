"""IF2NetClassifier: scikit-learn's conventions, and forgetting, merging and files on top of them."""

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from if2net import IF2Net, IF2NetClassifier, load
from if2net.decision.statistics import Statistics
from if2net.errors import ConfigurationError, InputError

# Checks that may be skipped, each with its reason.
MAY_BE_SKIPPED = {"check_array_api_input": "it needs SCIPY_ARRAY_API=1 before scipy is imported"}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, marks=pytest.mark.slow),  # the same as the next, with the default width
        {"width": 50},
        {"encoder": "linear", "dtype": "float64"},
        {"width": 50, "config": {"rule": "ewc", "epochs": 1}},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_all_of_scikit_learns_checks_pass(settings):
    estimator = IF2NetClassifier(random_state=0, device="cpu", **settings)
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    skipped = {result["check_name"] for result in results if result["status"] not in ("passed", "failed")}
    assert failed == {}
    assert skipped <= MAY_BE_SKIPPED.keys()
    assert len(results) > 50


# ---------------------------------------------------------------------- learning


def test_partial_fit_needs_no_list_of_classes(new_classifier, digits):
    X, y = digits
    classifier = new_classifier()
    for start in range(0, 10, 2):
        task = np.isin(y, [start, start + 1])
        classifier.partial_fit(X[task], y[task])
        assert classifier.classes_.tolist() == list(range(start + 2))
    assert classifier.score(X, y) > 0.9


def test_a_list_of_classes_is_accepted_and_changes_nothing(new_classifier, digits):
    X, y = digits
    with_list = new_classifier().partial_fit(X[:50], y[:50], classes=np.arange(20))
    without = new_classifier().partial_fit(X[:50], y[:50])
    np.testing.assert_array_equal(with_list.decision_function(X), without.decision_function(X))


def test_fit_starts_from_the_beginning(new_classifier, digits):
    X, y = digits
    iris = load_iris()
    again = new_classifier().fit(X[:100], y[:100]).fit(iris.data, iris.target_names[iris.target])
    fresh = new_classifier().fit(iris.data, iris.target_names[iris.target])
    assert again.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(again.decision_function(iris.data), fresh.decision_function(iris.data))


def test_the_classifier_forgets_and_merges_exactly(new_classifier, digits):
    X, y = digits
    low, high = y < 5, y >= 5
    base = new_classifier(dtype="float64", ridge=1e-2).fit(X[:200], y[:200])
    merged = base.fork().partial_fit(X[low], y[low])
    merged.merge(base.fork().partial_fit(X[high], y[high]))
    at_once = base.fork().partial_fit(X, y)
    np.testing.assert_allclose(merged.decision_function(X), at_once.decision_function(X), rtol=1e-9, atol=1e-9)
    merged.forget(X[high], y[high])
    only_low = base.fork().partial_fit(X[low], y[low])
    np.testing.assert_allclose(merged.decision_function(X), only_low.decision_function(X), rtol=1e-8, atol=1e-9)
    assert merged.classes_.tolist() == [0, 1, 2, 3, 4]


def test_only_another_classifier_can_be_merged(new_classifier, digits, unchanged):
    X, y = digits
    classifier = new_classifier().fit(X[:50], y[:50])
    with unchanged(classifier), pytest.raises(InputError, match="not a StandardScaler"):
        classifier.merge(StandardScaler())
    with unchanged(classifier):
        classifier.merge(new_classifier())  # it has learned nothing


@pytest.mark.parametrize(
    "call",
    [
        lambda model, X, y: model.forget(X, y),
        lambda model, X, y: model.fork(),
        lambda model, X, y: model.merge(model),
        lambda model, X, y: model.predict_proba(X),
        lambda model, X, y: model.decision_function(X),
        lambda model, X, y: model.save("model.if2"),
    ],
    ids=["forget", "fork", "merge", "predict_proba", "decision_function", "save"],
)
def test_an_unfitted_classifier_raises_not_fitted_error(new_classifier, digits, call):
    with pytest.raises(NotFittedError):
        call(new_classifier(), *digits)
    assert not hasattr(new_classifier(), "classes_")


# ---------------------------------------------------------------------- probabilities


@pytest.mark.parametrize("rule", ["analytic", "gradient"])
def test_probabilities_are_a_distribution_that_agrees_with_the_prediction(new_classifier, digits, rule):
    X, y = digits
    classifier = new_classifier(config={"rule": rule}).fit(X[:500], y[:500])
    probabilities = classifier.predict_proba(X)
    assert probabilities.shape == (len(X), 10)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(classifier.classes_[probabilities.argmax(axis=1)], classifier.predict(X))


def test_logarithms_of_probabilities_are_finite_where_these_vanish(new_classifier, digits):
    X, y = digits
    classifier = new_classifier(dtype="float64").fit(X[:500], y[:500])
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(X)), classifier.predict_proba(X), atol=1e-12)
    classifier.learner_.decision._temperature = 1e-4
    classifier.learner_._state = replace(classifier.learner_._state, solution=None)
    assert (classifier.predict_proba(X) == 0).any()
    assert np.isfinite(classifier.predict_log_proba(X)).all()


def test_transform_gives_the_features_to_which_the_scores_are_linear(new_classifier, digits):
    X, y = digits
    classifier = new_classifier(dtype="float64", width=60).fit(X[:500], y[:500])
    V = classifier.transform(X)
    np.testing.assert_allclose(
        V @ classifier.learner_.decision.beta.numpy(), classifier.decision_function(X), rtol=1e-9
    )
    assert list(classifier.get_feature_names_out()) == [f"if2netclassifier{place}" for place in range(V.shape[1])]
    classifier.set_output(transform="pandas")
    assert classifier.transform(X[:2]).columns.tolist() == list(classifier.get_feature_names_out())


def test_a_single_class_has_probability_one(new_classifier, digits):
    X, _ = digits
    probabilities = new_classifier().fit(X[:20], ["only"] * 20).predict_proba(X)
    np.testing.assert_array_equal(probabilities, np.ones((len(X), 1)))


def test_the_score_of_two_classes_is_positive_for_the_second(new_classifier):
    X, y = make_classification(200, 10, random_state=0)
    classifier = new_classifier().fit(X, np.where(y, "yes", "no"))
    scores = classifier.decision_function(X)
    assert scores.shape == (200,)
    np.testing.assert_array_equal(np.where(scores > 0, "yes", "no"), classifier.predict(X))


@pytest.mark.parametrize("width", [100, 300])
@pytest.mark.parametrize("seed", [0, 1])
def test_probabilities_are_calibrated(new_classifier, digits, width, seed):
    train_X, test_X, train_y, test_y = train_test_split(*digits, test_size=0.4, random_state=seed)
    classifier = new_classifier(width=width, random_state=seed).fit(train_X, train_y)
    confidence = classifier.predict_proba(test_X).max(axis=1)
    correct = classifier.predict(test_X) == test_y
    bins = np.minimum((confidence * 10).astype(int), 9)
    error = sum(abs((confidence - correct)[bins == k].sum()) for k in range(10)) / len(test_y)
    assert error < 0.05


# ---------------------------------------------------------------------- feature names


@pytest.fixture(scope="module")
def frame():
    return load_iris(as_frame=True, return_X_y=True)


def test_feature_names_are_kept_and_checked(new_classifier, frame, unchanged):
    X, y = frame
    classifier = new_classifier().fit(X, y)
    assert classifier.feature_names_in_.tolist() == X.columns.tolist()
    reordered = X[X.columns[::-1]]
    with unchanged(classifier), pytest.raises(ValueError, match="feature names should match"):
        classifier.partial_fit(reordered, y)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(reordered)
    with unchanged(classifier), pytest.raises(ValueError, match="feature names should match"):
        classifier.forget(reordered, y)


def test_a_fork_keeps_the_feature_names(new_classifier, frame):
    X, y = frame
    fork = new_classifier().fit(X, y).fork().partial_fit(X, y)
    assert fork.feature_names_in_.tolist() == X.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        fork.predict(X.rename(columns=str.upper))


@pytest.mark.parametrize("kind", ["an array", "a stream", "a tensor"])
def test_fitting_data_without_feature_names_drops_the_former_names(new_classifier, frame, kind):
    X, y = frame
    classifier = new_classifier().fit(X, y)
    plain = X.to_numpy().copy()
    data = {"an array": (plain, y), "a stream": ([(plain, y)],), "a tensor": (torch.from_numpy(plain), y)}
    classifier.fit(*data[kind])
    assert not hasattr(classifier, "feature_names_in_")


def test_a_stream_keeps_the_feature_names(new_classifier, frame):
    X, y = frame
    classifier = new_classifier().fit(X, y).partial_fit([(X.to_numpy(), y)])
    assert classifier.feature_names_in_.tolist() == X.columns.tolist()


@pytest.mark.parametrize("kind", [list, iter])
def test_feature_names_of_streamed_frames_are_kept_and_checked(new_classifier, frame, unchanged, kind, tmp_path):
    X, y = frame
    parts = [(X[::2], y[::2]), (X[1::2], y[1::2])]
    classifier = new_classifier().fit(X[X.columns[:2]], y).fit(kind(parts))
    assert classifier.feature_names_in_.tolist() == X.columns.tolist()
    np.testing.assert_array_equal(classifier.predict(X), new_classifier().fit(X, y).predict(X))
    reordered = (X[X.columns[::-1]], y)
    with unchanged(classifier), pytest.raises(ValueError, match="feature names should match"):
        classifier.partial_fit(kind([reordered]))
    with pytest.raises(ValueError, match="feature names should match"):
        new_classifier().fit(kind([parts[0], reordered]))
    classifier.save(tmp_path / "model.if2")
    with pytest.raises(ValueError, match="feature names should match"):
        load(tmp_path / "model.if2").predict(reordered[0])


# ---------------------------------------------------------------------- threads


def test_other_threads_can_predict_at_any_moment_of_a_refused_partial_fit(new_classifier, digits):
    X, y = digits
    classifier = new_classifier().fit(X[:100], y[:100])
    fitted, tracer = [], sys.gettrace()

    def look(frame, event, argument):
        """Look at the classifier before each line of its module, as another thread could."""
        fitted.append("learner_" in vars(classifier))
        return look if frame.f_globals["__name__"] == "if2net.classifier" else None

    sys.settrace(look)
    try:
        with pytest.raises(InputError):
            classifier.partial_fit(np.full((20, 64), np.nan), y[:20])
    finally:
        sys.settrace(tracer)
    assert len(fitted) > 10
    assert all(fitted)


def test_other_threads_predict_with_the_old_model_until_a_fit_is_complete(new_classifier, digits, monkeypatch):
    X, y = digits
    classifier = new_classifier().fit(X[:100], y[:100])
    expected, learn = classifier.predict(X[:5]).tolist(), IF2Net.learn

    def look_and_learn(*arguments, **weights):
        assert classifier.predict(X[:5]).tolist() == expected  # as another thread would
        return learn(*arguments, **weights)

    monkeypatch.setattr(IF2Net, "learn", look_and_learn)
    classifier.fit(X[:100, :7], y[:100])
    assert classifier.n_features_in_ == 7


# ---------------------------------------------------------------------- parameters and copies


def test_clone_and_parameters_follow_scikit_learn(new_classifier, digits):
    X, y = digits
    classifier = new_classifier(ridge=0.1).fit(X[:50], y[:50])
    twin = clone(classifier)
    assert twin.get_params() == classifier.get_params()
    assert not hasattr(twin, "learner_")
    assert twin.set_params(ridge=0.5, encoder="linear").get_params()["ridge"] == 0.5
    assert classifier.ridge == 0.1
    with pytest.raises(ValueError, match="Invalid parameter 'rigde'"):
        classifier.set_params(rigde=1)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"class_weight": "balanced", "check_inputs": False, "width": 9, "rigde": 1}, "rigde"),
        ({"class_weight": "balanced", "check_inputs": "never", "width": 9}, "check_inputs"),
        ({"class_weight": "balance", "check_inputs": False, "width": 9}, "class_weight"),
    ],
    ids=["name", "config", "class_weight"],
)
def test_set_params_changes_nothing_if_it_raises(new_classifier, digits, unchanged, params, sentence):
    classifier = new_classifier().fit(*digits)
    before, settings = classifier.get_params(), classifier.learner_.config
    with unchanged(classifier), pytest.raises(ValueError, match=sentence):
        classifier.set_params(**params)
    assert classifier.get_params() == before
    assert classifier.learner_.config == settings


def test_a_wrong_parameter_is_refused_when_fitting(new_classifier, digits, unchanged):
    X, y = digits
    classifier = new_classifier(config={"rule": "analitic"})
    with unchanged(classifier), pytest.raises(ConfigurationError, match="did you mean 'analytic'"):
        classifier.fit(X, y)


def test_only_settings_that_config_takes_are_suggested_for_an_unknown_one(new_classifier, digits):
    with pytest.raises(ConfigurationError, match=r"no setting 'widht'\.") as caught:
        new_classifier(config={"widht": 1}).fit(*digits)
    for name in ("encoder", "width", "ridge", "class_weight", "dtype", "device", "seed"):
        assert f" {name}," not in str(caught.value)


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["deepcopy", "pickle"]
)
@pytest.mark.parametrize("rule", ["analytic", "ewc"])
def test_a_copy_is_equal_and_independent(new_classifier, digits, unchanged, duplicate, rule):
    X, y = digits
    classifier = new_classifier(config={"rule": rule, "epochs": 1}).fit(X[:100], y[:100])
    twin = duplicate(classifier)
    np.testing.assert_array_equal(twin.decision_function(X), classifier.decision_function(X))
    with unchanged(classifier):
        twin.partial_fit(X[100:200], y[100:200] + 5)
    with unchanged(twin):
        classifier.partial_fit(X[200:300], y[200:300])


def test_a_classifier_works_in_pipelines_and_cross_validation(new_classifier):
    X, y = load_iris(return_X_y=True)
    scores = cross_val_score(make_pipeline(StandardScaler(), new_classifier()), X, y, cv=3)
    assert scores.min() > 0.85


# ---------------------------------------------------------------------- randomness


def test_the_random_state_determines_the_scores(new_classifier, digits):
    X, y = digits

    def scores(random_state):
        return new_classifier(random_state=random_state).fit(X[:100], y[:100]).decision_function(X)

    np.testing.assert_array_equal(scores(1), scores(1))
    np.testing.assert_array_equal(scores(1), scores(np.int64(1)))
    np.testing.assert_array_equal(scores(np.random.RandomState(1)), scores(np.random.RandomState(1)))
    assert not np.allclose(scores(1), scores(2))


def test_without_a_random_state_every_fit_draws_other_weights(new_classifier, digits, tmp_path):
    X, y = digits
    classifier = new_classifier(random_state=None).fit(X[:100], y[:100])
    before = classifier.decision_function(X)
    classifier.save(tmp_path / "model.if2")
    np.testing.assert_array_equal(load(tmp_path / "model.if2", device="cpu").decision_function(X), before)
    assert not np.allclose(classifier.fit(X[:100], y[:100]).decision_function(X), before)


def test_labels_in_one_column_are_accepted_with_the_warning_of_scikit_learn(new_classifier, digits):
    X, y = digits
    with pytest.warns(match="A column-vector y was passed"):
        classifier = new_classifier().fit(X[:50], pd.DataFrame(y[:50]))
    assert classifier.classes_.tolist() == list(range(10))


def test_feature_names_are_stored_in_the_file(tmp_path):
    frame = pd.DataFrame({"length": [1.0, 2.0, 8.0, 9.0], "width": [0.1, 0.2, 0.8, 0.9]})
    classifier = IF2NetClassifier(random_state=0, device="cpu", width=20).fit(frame, ["a", "a", "b", "b"])
    classifier.save(tmp_path / "model.if2")
    loaded = load(tmp_path / "model.if2", device="cpu")
    assert list(loaded.feature_names_in_) == ["length", "width"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["width", "length"]])


def test_few_modules_lie_between_partial_fit_and_the_statistics(new_classifier, digits, monkeypatch):
    X, y = digits
    classifier, add, modules = new_classifier().partial_fit(X[:100], y[:100]), Statistics.add, set()

    def record(*arguments):
        frame = sys._getframe()
        while frame is not None:
            modules.add(frame.f_globals["__name__"])
            frame = frame.f_back
        return add(*arguments)

    monkeypatch.setattr(Statistics, "add", record)
    classifier.partial_fit(X[100:], y[100:])
    assert {"if2net.classifier", "if2net.learner"} <= modules
    assert len([name for name in modules if name.startswith("if2net.")]) <= 8


def test_a_continuous_target_in_an_object_array_is_refused(new_classifier, digits):
    X, _ = digits
    with pytest.raises(ValueError, match="Unknown label type"):
        new_classifier().fit(X[:4], np.array([1.5, 2.5, 1.5, 2.5], dtype=object))


def test_two_threads_that_fit_first_lose_nothing():
    random = np.random.default_rng(0)
    classifier = IF2NetClassifier(random_state=0, device="cpu", width=200)
    start = threading.Barrier(2)

    def fit(place):
        start.wait()
        classifier.partial_fit(random.normal(size=(500, 20)), np.array([f"a{place}", f"b{place}"] * 250))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(fit, range(2)))  # raises their errors
    assert classifier.classes_.tolist() == ["a0", "a1", "b0", "b1"]
    assert classifier.learner_.samples == 1000
