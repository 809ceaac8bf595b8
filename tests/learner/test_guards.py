"""Batches that are most likely a mistake: in other units, or learned before."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine

from if2net import IF2Net, IF2NetClassifier, guards, load
from if2net.errors import RepeatedSamplesWarning, SuspectInputError


@pytest.fixture
def halves(digits):
    X, y = digits
    return (X[y < 5], y[y < 5]), (X[y >= 5], y[y >= 5])


@pytest.fixture
def net(new_learner, halves):
    return new_learner().learn(*halves[0])


def one_row(X):
    X = X.copy()
    X[300] = 1e9
    return X


BAD = {f"times {factor:g}": lambda X, factor=factor: X * factor for factor in (1e2, 1e4, 1e6, 1e12)}
BAD["one row of 1e9"] = one_row


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("how", ["array", "stream", "generator"])
def test_a_batch_in_other_units_is_refused_and_changes_nothing(name, how, net, halves):
    X, y = BAD[name](halves[1][0]), halves[1][1]
    before, samples = net.scores(halves[0][0]), net.samples
    batches = [(halves[1][0][:100], y[:100]), (X[100:], y[100:])]
    given = {"array": (X, y), "stream": (batches,), "generator": (iter(batches),)}[how]
    with pytest.raises(SuspectInputError, match="times as large as usual"):
        net.learn(*given)
    assert net.samples == samples
    assert torch.equal(net.scores(halves[0][0]), before)


def test_most_single_samples_in_other_units_are_refused(net, halves):
    X, y = torch.tensor(halves[1][0]), halves[1][1]
    refused = [not guards.looks_usual(100 * sample, net.encoder) for sample in X.split(1)]
    assert np.mean(refused) > 0.99
    assert all(guards.looks_usual(sample, net.encoder) for sample in X.split(1))
    with pytest.raises(SuspectInputError, match="times as large as usual"):
        net.learn(100 * X[:1], y[:1])


def test_the_error_names_the_columns_how_far_off_they_are_and_the_first_sample(net, halves):
    X, y = halves[1]
    X = X.copy()
    X[7:, [20, 21, 35, 42]] *= np.array([1e3, 1e5, 1e4, 1e3])
    net.feature_names = [f"pixel {place}" for place in range(64)]
    with pytest.raises(SuspectInputError, match=r"'pixel 21', 'pixel 35', .* and 1 more.*the first in sample 8"):
        net.learn(X, y)
    net.feature_names = None
    with pytest.raises(SuspectInputError, match=r"columns 21, 35, .* up to [\d.e+,]+ times as large as usual"):
        net.learn(X, y)


def test_check_inputs_lets_a_batch_in_for_new_and_for_existing_learners(net, halves):
    X, y = halves[1]
    net.check_inputs = False
    net.learn(1e4 * X, y)
    classifier = IF2NetClassifier(device="cpu", random_state=0, width=60, check_inputs=False)
    classifier.partial_fit(*halves[0]).partial_fit(1e4 * X, y)
    assert net.samples == classifier.learner_.samples == len(X) + len(halves[0][0])


def test_set_params_switches_the_check_of_a_learned_classifier(halves):
    X, y = halves[1]
    classifier = IF2NetClassifier(device="cpu", random_state=0, width=60).partial_fit(*halves[0])
    with pytest.raises(SuspectInputError, match=r"set_params\(check_inputs=False\)"):
        classifier.partial_fit(1e4 * X, y)
    classifier.set_params(check_inputs=False).partial_fit(1e4 * X, y)
    with pytest.raises(SuspectInputError):
        classifier.set_params(check_inputs=True).partial_fit(1e4 * X, y)


@pytest.mark.parametrize("loaded", [False, True])
def test_switching_the_check_of_a_classifier_changes_no_other_setting(halves, tmp_path, loaded):
    settings = {"activation": "tanh", "holdout": 0.2}
    classifier = IF2NetClassifier(device="cpu", random_state=0, width=60, config=settings).fit(*halves[0])
    if loaded:
        classifier.save(tmp_path / "model.if2")
        classifier = load(tmp_path / "model.if2", device="cpu")
    before, config = classifier.get_params(), classifier.learner_.config
    classifier.set_params(check_inputs=False)
    assert classifier.get_params() == before | {"check_inputs": False}
    assert classifier.learner_.config == replace(config, check_inputs=False)
    assert before["config"] == settings


def test_a_saved_learner_and_a_fork_refuse_the_same_batches(net, halves, tmp_path):
    net.save(tmp_path / "net.if2")
    for other in (IF2Net.load(tmp_path / "net.if2"), net.fork()):
        with pytest.raises(SuspectInputError):
            other.learn(100 * halves[1][0], halves[1][1])


def test_a_column_that_was_constant_may_vary_later(new_learner, halves):
    (X, y), later = halves
    scale = np.geomspace(1e-3, 1e6, 64)  # columns in different units
    net = new_learner().learn(X * scale, y)
    constant = X.std(axis=0) == 0
    assert constant.any()
    later = later[0] * scale
    later[:, constant] = 1e4
    net.learn(later, halves[1][1])


@pytest.mark.parametrize("lowest", [0, -1], ids=["intensities", "a common scale"])
@pytest.mark.parametrize("rows", [1, 5])
def test_amounts_that_are_all_zero_in_the_first_batch_are_learned_without_harm(new_learner, lowest, rows):
    random = np.random.default_rng(0)
    X = random.uniform(lowest, 1, (600, 4))
    X[:, 2] = 0
    y = (X[:, 0] > X[:, 0].mean()) + 2 * (X[:, 1] > X[:, 1].mean())
    net = new_learner().learn(X[:5], y[:5]).learn(X[5:300], y[5:300])
    before = np.mean(net.predict(X[300:]) == y[300:])
    amounts = random.uniform(lowest, 1, (50, 4))
    amounts[:, 2] = random.lognormal(8, 1, 50)
    for start in range(0, 50, rows):
        net.learn(amounts[start : start + rows], np.full(rows, 4))
    assert np.mean(net.predict(X[300:]) == y[300:]) > before - 0.01
    with pytest.raises(SuspectInputError, match=r"columns [013], [013], [013], values"):
        net.learn(100 * X[:5], y[:5])


def test_a_table_whose_columns_are_all_centred_is_checked_too(new_learner):
    X = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    net = new_learner().learn(X, [0, 0, 1, 1])
    with pytest.raises(SuspectInputError, match="columns 0, 1"):
        net.learn(100 * X, [0, 0, 1, 1])


def test_a_heavy_tail_is_no_reason_to_refuse_a_batch(new_learner):
    random = np.random.default_rng(0)
    X, y = random.lognormal(sigma=2, size=(2000, 10)), np.arange(2000) % 4
    net = new_learner().learn(X[:500], y[:500])
    for start in range(500, 2000, 100):
        net.learn(X[start : start + 100], y[start : start + 100])


def test_a_feature_that_is_nearly_zero_in_a_small_first_batch_may_have_usual_values_later(new_learner):
    random = np.random.default_rng(0)
    X, y = random.random((200, 20)), np.arange(200) // 10
    X[:, 0] *= 1000  # columns in different units
    X[:, 7] = 0
    X[[5, 50, 150], 7] = 3e-6, 0.9, 0.9
    net = new_learner(width=50).learn(X[:10], y[:10])
    assert net.encoder.clips
    net.learn(X[10:], y[10:])
    assert net.samples == 200
    X[150, 7] = 1e5  # above the usual values of all columns
    with pytest.raises(SuspectInputError):
        new_learner(width=50).learn(X[:10], y[:10]).learn(X[10:], y[10:])


@pytest.mark.parametrize("place", [np.s_[20], np.s_[20, 6]], ids=["a row", "a value"])
def test_one_sample_of_1e9_is_refused_where_large_values_are_clipped_too(new_learner, place):
    X, y = load_wine(return_X_y=True)
    net = new_learner().learn(X[y < 2], y[y < 2])
    assert net.encoder.clips
    batch = X[y == 2]
    batch[place] = 1e9
    with pytest.raises(SuspectInputError, match="the first in sample 21"):
        net.learn(batch, y[y == 2])


def test_samples_streamed_to_a_gpu_are_checked_too(net, halves, monkeypatch):
    X, y = halves[1]
    monkeypatch.setattr("if2net.learner.worth_streaming", lambda X, device: True)
    monkeypatch.setattr("if2net.samples.copies", lambda X, rows, device: iter(X.split(rows)))
    with pytest.raises(SuspectInputError, match="times as large"):
        net.learn(one_row(X), y)
    net.learn(X, y)


def test_without_a_scale_nothing_is_refused(new_learner, halves):
    net = new_learner(encoder="linear", standardise="none").learn(*halves[0])
    net.learn(1e3 * halves[1][0], halves[1][1])


def test_the_usual_size_of_pixels_is_that_of_the_first_data(net, halves):
    assert 0.5 < float(guards.relative_size(torch.tensor(halves[0][0]), net.encoder)) < 2
    assert float(guards.relative_size(torch.tensor(50 * halves[0][0]), net.encoder)) == pytest.approx(
        50 * float(guards.relative_size(torch.tensor(halves[0][0]), net.encoder)), rel=1e-3
    )


@pytest.mark.parametrize("count", [1, 2, 5, 10])
def test_a_first_batch_of_a_few_samples_costs_little_accuracy(count, digits):
    X, y = digits
    order = np.random.default_rng(0).permutation(len(y))
    first, rest, test = order[:count], order[count:1000], order[1000:]
    net = IF2Net(device="cpu").learn(X[first], y[first]).learn(X[rest], y[rest])
    assert np.mean(net.predict(X[test]) == y[test]) > 0.975


# ---------------------------------------------------------------------- repeated samples


@pytest.mark.parametrize("how", ["array", "stream"])
def test_learning_the_same_samples_again_warns(how, net, halves):
    X, y = halves[0]
    net.learn(*halves[1])
    with pytest.warns(RepeatedSamplesWarning, match="learned before with the same labels"):
        net.learn(X, y) if how == "array" else net.learn([(X[:300], y[:300]), (X[300:], y[300:])])
    net.forget(X, y)
    assert net.samples == len(X) + len(halves[1][0])


def test_merging_a_fork_that_has_learned_the_same_samples_warns(net, halves):
    other = net.fork().learn(*halves[0])
    with pytest.warns(RepeatedSamplesWarning):
        net.merge(other)


REPEATS = {
    "learn": lambda classifier, X, y: classifier.learner_.learn(X, y),
    "batches": lambda classifier, X, y: classifier.learner_.learn([(X[:300], y[:300]), (X[300:], y[300:])]),
    "merge": lambda classifier, X, y: classifier.learner_.merge(classifier.learner_.fork().learn(X, y)),
    "partial_fit": lambda classifier, X, y: classifier.partial_fit(X, y),
    "partial_fit of batches": lambda classifier, X, y: classifier.partial_fit([(X, y)]),
    "merge of classifiers": lambda classifier, X, y: classifier.merge(classifier.fork().partial_fit(X, y)),
}


@pytest.mark.parametrize("how", REPEATS)
def test_the_warning_points_to_the_line_of_the_user(how, halves):
    classifier = IF2NetClassifier(width=50, device="cpu").fit(*halves[0])
    with pytest.warns(RepeatedSamplesWarning) as notices:
        REPEATS[how](classifier, *halves[0])
    line = REPEATS[how].__code__.co_firstlineno
    assert {(notice.filename, notice.lineno) for notice in notices} == {(__file__, line)}


def test_new_samples_other_labels_and_data_with_few_different_rows_do_not_warn(new_learner, halves):
    (X, y), (X_new, y_new) = halves
    random = np.random.default_rng(0)
    bits = random.integers(0, 2, size=(2000, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = new_learner().learn(X, y)
        net.learn(X_new, y_new)
        net.learn(X, y + 100)
        binary = new_learner().learn(bits[:1000], bits[:1000].sum(axis=1))
        for start in range(1000, 2000, 50):
            binary.learn(bits[start : start + 50], bits[start : start + 50].sum(axis=1))
