"""Samples of every type, and streams of batches, give the same result as plain arrays."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array
from torch.utils.data import DataLoader, TensorDataset

from if2net import inputs, pictures
from if2net.errors import InputError

WHOLE = np.arange(60).reshape(12, 5) % 11


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


KINDS = {
    "float64": lambda X: X.astype(np.float64),
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "uint8": lambda X: X.astype(np.uint8),
    "uint16": lambda X: X.astype(np.uint16),
    "uint64": lambda X: X.astype(np.uint64),
    "other byte order": lambda X: X.astype(np.float64).astype(">f8"),
    "Fortran order": lambda X: np.asfortranarray(X.astype(np.float64)),
    "read-only": lambda X: read_only(X.astype(np.float64)),
    "reversed view": lambda X: X[::-1].copy()[::-1],
    "numbers as objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "torch": lambda X: torch.from_numpy(X),
    "torch with gradient": lambda X: torch.from_numpy(X).float().requires_grad_(),
    "torch transposed": lambda X: torch.from_numpy(X.T.copy()).T,
    "pandas": lambda X: pd.DataFrame(X, index=range(100, 100 + len(X))),
    "pandas of several kinds": lambda X: pd.DataFrame({str(j): X[:, j].astype(f"i{1 << j % 4}") for j in range(5)}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["learner", "classifier"])
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.filterwarnings("error:The given NumPy array is not writable")
def test_every_type_of_input_gives_the_same_scores(new_learner, new_classifier, kind, model):
    y = np.arange(12) % 3
    samples = KINDS[kind](WHOLE)
    if model == "learner":
        plain = new_learner().learn(WHOLE.astype(np.float32), y)
        other = new_learner().learn(samples, y)
        np.testing.assert_array_equal(other.scores(samples), plain.scores(WHOLE))
    else:
        plain = new_classifier().fit(WHOLE.astype(np.float32), y)
        other = new_classifier().fit(samples, y)
        np.testing.assert_array_equal(other.decision_function(samples), plain.decision_function(WHOLE))


def test_truth_values_are_zeros_and_ones(new_learner):
    X = WHOLE > 5
    scores = [new_learner().learn(samples, np.arange(12) % 3).scores(samples) for samples in (X, X.astype(float))]
    np.testing.assert_array_equal(*scores)


def test_large_unsigned_integers_stay_positive():
    X = inputs.tensor(inputs.matrix(np.array([[2**63 + 2**40]], dtype=np.uint64)), torch.float64, "cpu")
    assert float(X) == 2**63 + 2**40


def test_the_data_of_the_caller_is_never_written_to(new_learner, digits):
    X, y = digits
    samples = np.ascontiguousarray(X[:50], dtype=np.float32)
    before = samples.copy()
    new_learner().learn(samples, y[:50]).predict(samples)
    np.testing.assert_array_equal(samples, before)


# ---------------------------------------------------------------------- streams


def loader(X, y):
    return DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(y)), batch_size=32)


def generator(X, y):
    return ((X[start : start + 32], y[start : start + 32]) for start in range(0, len(X), 32))


STREAMS = {"DataLoader": loader, "generator": generator, "list of pairs": lambda X, y: list(generator(X, y))}


@pytest.mark.parametrize("stream", STREAMS)
def test_with_a_frozen_encoder_a_stream_is_learned_like_an_array(new_learner, digits, stream):
    X, y = digits
    base = new_learner(dtype="float64").learn(X[:100], y[:100])
    array, streamed = base.fork().learn(X[:500], y[:500]), base.fork().learn(STREAMS[stream](X[:500], y[:500]))
    np.testing.assert_allclose(streamed.scores(X), array.scores(X), rtol=1e-9, atol=1e-9)
    assert streamed.tasks == 1


@pytest.mark.parametrize("stream", STREAMS)
def test_the_classifier_learns_streams_from_the_start_and_later(new_classifier, digits, stream):
    X, y = digits
    low, high = y < 5, y >= 5
    classifier = new_classifier().fit(STREAMS[stream](X[low], y[low]))
    classifier.partial_fit(STREAMS[stream](X[high], y[high]))
    assert classifier.n_features_in_ == 64
    assert classifier.classes_.tolist() == list(range(10))
    assert classifier.score(X, y) > 0.9


@pytest.mark.parametrize(
    "settings",
    [{"rule": "gradient"}, {"rule": "ewc"}, {"encoder": "paper", "layers": "5x5,10x5"}],
    ids=str,
)
def test_rules_and_tweaks_that_need_the_whole_task_gather_a_stream(new_learner, digits, settings):
    X, y = digits[0][:100].astype(np.float32), digits[1][:100]
    array = new_learner(**settings, epochs=1).learn(X, y)
    streamed = new_learner(**settings, epochs=1).learn(generator(X, y))
    np.testing.assert_array_equal(streamed.scores(X), array.scores(X))


def test_a_stream_can_add_classes(new_learner, digits):
    X, _ = digits
    learner = new_learner().learn(X[:20], ["seen"] * 20)
    learner.learn([(X[20:30], ["new"] * 10), (X[30:40], ["newer"] * 10)])
    assert learner.classes.tolist() == ["new", "newer", "seen"]


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], "is empty"),
        ([(WHOLE, [0] * 12, [1] * 12, "more")], "it gave a tuple instead"),
        ([WHOLE], "it gave a ndarray instead"),
        ({"X": WHOLE}, "it gave a str instead"),
    ],
    ids=["no batch", "batches of four items", "samples without labels", "a dictionary"],
)
def test_an_iterable_that_does_not_give_pairs_is_refused(new_learner, unchanged, batches, message):
    learner = new_learner()
    with unchanged(learner), pytest.raises(InputError, match=message):
        learner.learn(batches)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_single_value_that_is_not_finite_is_detected(bad):
    X = torch.zeros(300, 70)
    assert bool(inputs.finite(X))
    X[211, 13] = bad
    assert not bool(inputs.finite(X))


def test_truth_values_in_a_list_of_numbers_are_not_turned_into_numbers():
    assert inputs.labels([1, True], 2).tolist()[1] is True
    assert inputs.labels([True, False], 2).dtype == bool


@pytest.mark.parametrize("y", [["a", "a\0"], ("a", "a\0"), [["a"], ["a\0"]]], ids=["list", "tuple", "column"])
def test_labels_that_numpy_would_cut_stay_different(y):
    assert inputs.labels(y, 2).tolist() == ["a", "a\0"]


@pytest.mark.parametrize("kind", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_every_call_validates_its_samples_once(new_learner, digits, monkeypatch, kind):
    X, y = kind(digits[0][:100]), digits[1][:100]
    calls = []
    for module, name in [(inputs, "matrix"), (inputs, "labels"), (pictures, "as_rows")]:
        original = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, original=original: calls.append(original) or original(*given)
        )
    learner = new_learner()
    for call in (learner.learn, learner.forget, learner.learn):
        calls.clear()
        call(X, y)
        assert len(calls) == len(set(calls)) == 3
    calls.clear()
    learner.predict(X)
    assert len(calls) == len(set(calls)) == 2
