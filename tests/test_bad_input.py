"""Bad input is refused with a sentence that says what to do, and the learner stays unchanged."""

import re
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array

from if2net import IF2Net
from if2net.errors import InputError


def with_value(value):
    return lambda X: np.where(np.arange(X.size).reshape(X.shape) == 70, value, X)


def named(X):
    return pd.DataFrame(X).add_prefix("x")


# How good samples are spoiled, and what the message of the learner advises.
BAD_SAMPLES = {
    "NaN": (with_value(np.nan), "remove or fill in"),
    "infinity": (with_value(np.inf), "remove or fill in"),
    "minus infinity": (with_value(-np.inf), "remove or fill in"),
    "too large for float32": (with_value(1e300), "too large for torch.float32"),
    "NaN in a tensor": (lambda X: torch.from_numpy(with_value(np.nan)(X)), "remove or fill in"),
    "NaN in a frame": (lambda X: pd.DataFrame(with_value(np.nan)(X)), "remove or fill in"),
    "no samples": (lambda X: X[:0], "give at least one sample"),
    "no features": (lambda X: X[:, :0], "give at least one sample and one feature"),
    "one dimension": (lambda X: X[:, 0], "Reshape a single sample"),
    "one dimension of a tensor": (lambda X: torch.from_numpy(X[:, 0]), "Reshape a single sample"),
    "five dimensions": (lambda X: X.reshape(len(X), 2, 2, 4, 4), "Give pictures as one array"),
    "a strange number of channels": (lambda X: X.reshape(len(X), 8, 2, 4)[..., :2], "1, 3 or 4 channels"),
    "text": (lambda X: X.astype(str).astype(object) + "cm", "encode such columns"),
    "a frame with text": (
        lambda X: named(X).assign(text="a").drop(columns="x0"),
        "the column 'text' holds text or objects",
    ),
    "a frame with objects": (lambda X: named(X).assign(x0=[{}] * len(X)), "the column 'x0' holds text or objects"),
    "dates": (lambda X: pd.DataFrame({"day": pd.date_range("2026", periods=len(X))}), "the column 'day'; turn them"),
    "dates among numbers": (lambda X: named(X).assign(day=pd.Timestamp("2026")), "the column 'day'; turn them"),
    "durations": (lambda X: X.astype("m8[h]"), "has dates or durations; turn them into numbers"),
    "dates as objects": (lambda X: named(X).assign(day=date(2026, 1, 31)), "the column 'day'; turn them"),
    "durations as objects": (
        lambda X: named(X).assign(time=pd.Series([pd.Timedelta(1, "h")] * len(X), dtype=object)),
        "the column 'time'; turn them",
    ),
    "an array of dates": (
        lambda X: np.array([[1.0, datetime(2026, 1, 31)]] * len(X), dtype=object),
        "the column 1; turn them",
    ),
    "NumPy's dates as objects": (
        lambda X: np.array([[np.datetime64("2026-01-31")]] * len(X), dtype=object),
        "the column 0; turn them",
    ),
    "NumPy's durations among numbers": (
        lambda X: [[np.timedelta64(1, "h"), 1.0]] * len(X),
        "the column 0; turn them",
    ),
    "a list of NumPy's dates": (lambda X: [[np.datetime64("2026-01-31")]] * len(X), "has dates or durations; turn"),
    "masked": (lambda X: np.ma.masked_equal(X, X.max()), "X has masked values; fill them in"),
    "a list of masked rows": (
        lambda X: [np.ma.masked_greater(row, 7) for row in X],
        "X has masked values; fill them in",
    ),
    "a tuple of masked pictures": (
        lambda X: tuple(np.ma.masked_greater(row.reshape(8, 8), 7) for row in X),
        "X has masked values; fill them in",
    ),
    "rows of different lengths": (lambda X: [*X[:-1].tolist(), [1.0]], "rows of one length"),
    "nothing": (lambda X: None, "must have two dimensions"),
    "a sparse tensor": (lambda X: torch.from_numpy(X).to_sparse(), "call X.to_dense"),
    "complex": (lambda X: X + 1j, "give real numbers"),
    "a number beyond float64": (lambda X: np.array([[10**400] * 64] * len(X), dtype=object), "beyond the range"),
    "rows of numbers beyond float64": (lambda X: [[10**400] * 64] * len(X), "beyond the range of float64; remove it"),
    "a tensor without values": (lambda X: torch.empty(len(X), 64, device="meta"), "give a tensor with values"),
    "a quantized tensor": (
        lambda X: torch.quantize_per_tensor(torch.from_numpy(X).float(), 0.1, 0, torch.qint8),
        "call X.dequantize",
    ),
    "a nested tensor": (lambda X: torch.nested.nested_tensor([torch.ones(3), torch.ones(2)]), "rows of one length"),
    "a jagged tensor": (
        lambda X: torch.nested.nested_tensor([torch.ones(3), torch.ones(2)], layout=torch.jagged),
        "rows of one length",
    ),
    "a complex tensor": (lambda X: torch.from_numpy(X + 1j), "give real numbers"),
}
# These are wrong only for a learner that has already learned.
BAD_LATER_SAMPLES = {
    "fewer features": (lambda X: X[:, :-1], "give the same features"),
    "more features": (lambda X: np.hstack([X, X]), "give the same features"),
    "far out of range": (with_value(1e38), "start a new learner"),
}
BAD_LABELS = {
    "too few labels": (lambda y: y[:-1], "give one label for each sample"),
    "too many labels": (lambda y: np.append(y, 0), "give one label for each sample"),
    "no labels": (lambda y: y[:0], "give one label for each sample"),
    "two labels per sample": (lambda y: np.stack([y, y], axis=1), "one label per sample"),
    "a single label": (lambda y: 3, "one label per sample"),
    "numbers among text": (lambda y: ["a", *y[1:].tolist()], "use one kind for all classes"),
    "numbers among text as objects": (lambda y: np.array(["a", *y[1:]], dtype=object), "use one kind"),
    "NaN": (lambda y: np.append(y[1:].astype(float), np.nan), "every sample needs a label"),
    "NaN among text": (lambda y: [np.nan, *["a"] * (len(y) - 1)], "every sample needs a label"),
    "NA of pandas": (
        lambda y: pd.Series(["a"] * (len(y) - 1) + [None], dtype="string"),
        "every sample needs a label",
    ),
    "lists of different lengths": (lambda y: [[1, 2], *([label] for label in y[1:])], "one label per sample"),
    "arrays": (lambda y: np.array([np.ones(2), *y[1:]], dtype=object), "not ndarray"),
    "more digits than Python prints": (lambda y: [10**5000, *y[1:].tolist()], "write such labels as text"),
    "masked": (lambda y: np.ma.masked_equal(y, y[0]), "y has masked values"),
    "None": (lambda y: [None, *y[1:].tolist()], "every sample needs a label"),
    "missing in a series": (lambda y: pd.Series(y, dtype="Int64").replace(y[0], pd.NA), "every sample needs a label"),
    "bytes": (lambda y: y.astype(bytes), "convert them first"),
    "tensors with gradients": (lambda y: list(torch.from_numpy(y).float().requires_grad_()), "call detach"),
    "a tensor without values": (lambda y: torch.empty(len(y), device="meta"), "give a tensor with values"),
}
BAD_LATER_LABELS = {"text after numbers": (lambda y: y.astype(str), "use one kind for all classes")}
BAD_BATCHES = {
    "NaN": lambda X, y: (with_value(np.nan)(X), y),
    "fewer features": lambda X, y: (X[:, :-1], y),
    "too few labels": lambda X, y: (X, y[:-1]),
    "numbers among text": lambda X, y: (X, ["a", *y[1:].tolist()]),
    "text after numbers": lambda X, y: (X, y.astype(str)),
    "no pair": lambda X, y: (X,),
}


COMPLEX = {
    "an array": lambda X: X + 1j,
    "a frame": lambda X: pd.DataFrame(X + 1j),
    "a list": lambda X: (X + 1j).tolist(),
    "pictures": lambda X: (X + 1j).reshape(-1, 8, 8),
    "a list of pictures": lambda X: list((X + 1j).reshape(-1, 8, 8)),
    "a tensor of pictures": lambda X: torch.from_numpy(X + 1j).reshape(-1, 8, 8),
}


def assert_sentence(error):
    assert re.fullmatch(r"(X\b|y\b|[A-Z]).*\.", str(error), re.DOTALL), str(error)


@pytest.fixture(params=["learner", "classifier"])
def new(request, new_learner, new_classifier):
    """Build an unfitted model. Both kinds must refuse the same input."""
    return new_learner if request.param == "learner" else new_classifier


def learn(model, X, y):
    return model.learn(X, y) if isinstance(model, IF2Net) else model.partial_fit(X, y)


def assert_refused(model, unchanged, action, hint):
    """In the classifier, scikit-learn's own checks may come first, with other words and types."""
    ours = isinstance(model, IF2Net)
    with unchanged(model), pytest.raises(InputError if ours else (ValueError, TypeError)) as caught:
        action()
    if isinstance(caught.value, InputError):
        assert_sentence(caught.value)
    if ours:
        assert hint in str(caught.value)


@pytest.fixture
def samples(digits):
    return digits[0][100:120], digits[1][100:120]


@pytest.mark.parametrize("case", BAD_SAMPLES | BAD_LATER_SAMPLES)
def test_bad_samples_are_not_learned(new, digits, samples, unchanged, case):
    spoil, hint = (BAD_SAMPLES | BAD_LATER_SAMPLES)[case]
    X, y = samples
    model = learn(new(), digits[0][:50], digits[1][:50])
    assert_refused(model, unchanged, lambda: learn(model, spoil(X), y), hint)


@pytest.mark.parametrize("case", BAD_SAMPLES)
def test_bad_samples_leave_an_unfitted_model_unfitted(new, samples, unchanged, case):
    spoil, hint = BAD_SAMPLES[case]
    X, y = samples
    model = new()
    assert_refused(model, unchanged, lambda: learn(model, spoil(X), y), hint)
    assert learn(model, X, y).predict(X).shape == y.shape


@pytest.mark.parametrize("case", BAD_SAMPLES | BAD_LATER_SAMPLES)
def test_bad_samples_are_neither_predicted_nor_forgotten(new, digits, samples, unchanged, case):
    spoil, hint = (BAD_SAMPLES | BAD_LATER_SAMPLES)[case]
    X, y = samples
    model = learn(new(), digits[0][:120], digits[1][:120])
    assert_refused(model, unchanged, lambda: model.predict(spoil(X)), hint)
    assert_refused(model, unchanged, lambda: model.forget(spoil(X), y), hint)


@pytest.mark.parametrize("case", COMPLEX)
def test_complex_numbers_get_the_same_explanation_in_both_models(new, samples, case):
    X, y = samples
    with pytest.raises(InputError, match="give real numbers"):
        learn(new(), COMPLEX[case](X), y)


@pytest.mark.parametrize("case", BAD_LABELS | BAD_LATER_LABELS)
def test_bad_labels_are_not_learned(new, digits, samples, unchanged, case):
    spoil, hint = (BAD_LABELS | BAD_LATER_LABELS)[case]
    X, y = samples
    model = learn(new(), digits[0][:50], digits[1][:50])
    assert_refused(model, unchanged, lambda: learn(model, X, spoil(y)), hint)


@pytest.mark.parametrize("case", ["numbers among text", "numbers among text as objects", "text after numbers"])
def test_labels_that_cannot_be_compared_get_the_same_explanation_in_both_models(new, digits, samples, case):
    spoil, hint = (BAD_LABELS | BAD_LATER_LABELS)[case]
    X, y = samples
    with pytest.raises(InputError, match=hint):
        learn(learn(new(), digits[0][:50], digits[1][:50]), X, spoil(y))


@pytest.mark.parametrize(
    "case",
    [
        "text",
        "a frame with text",
        "a frame with objects",
        "dates among numbers",
        "durations",
        "dates as objects",
        "durations as objects",
        "an array of dates",
        "NumPy's dates as objects",
        "NumPy's durations among numbers",
        "a list of NumPy's dates",
        "masked",
        "a list of masked rows",
        "a tuple of masked pictures",
        "rows of different lengths",
    ],
)
def test_samples_that_are_no_numbers_get_the_same_explanation_in_both_models(new, samples, case):
    spoil, hint = BAD_SAMPLES[case]
    with pytest.raises(InputError, match=hint):
        learn(new(), spoil(samples[0]), samples[1])


def test_a_list_of_tensors_with_gradients_is_not_learned(new, samples, unchanged):
    X, y = samples
    model = new()
    with unchanged(model), pytest.raises(InputError, match=r"call detach\(\) on them"):
        learn(model, list(torch.from_numpy(X).requires_grad_()), y)


@pytest.mark.parametrize(
    ("weights", "hint"),
    [
        (lambda: [10**400] * 20, "must hold real numbers"),
        (lambda: list(torch.ones(20, requires_grad=True)), "must hold real numbers"),
        (lambda: torch.empty(20, device="meta"), "give a tensor with values"),
        (lambda: np.full(20, 1 + 2j), "must hold real numbers"),
        (lambda: [1 + 2j] * 20, "must hold real numbers"),
    ],
    ids=["too large", "tensors with gradients", "a tensor without values", "complex", "a list of complex numbers"],
)
def test_weights_that_are_no_numbers_are_refused(new_learner, samples, unchanged, weights, hint):
    model = new_learner()
    with unchanged(model), pytest.raises(InputError, match=hint):
        model.learn(*samples, sample_weight=weights())


def test_complex_labels_are_refused_by_both_models(new, samples, unchanged):
    model = new()
    with unchanged(model), pytest.raises(InputError, match="not complex128; convert them first"):
        learn(model, samples[0], samples[1] + 1j)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.rename(columns={"x3": "x0"}), "more than one column 'x0'"),
        (lambda frame: frame.astype(pd.SparseDtype(float, np.nan)), "fill value other than 0; give"),
        (lambda frame: frame[[]], "X has no columns; give at least one feature"),
    ],
    ids=["duplicate names", "sparse with NaN", "no columns"],
)
def test_frames_that_scikit_learn_cannot_take_are_refused_in_our_words(
    new_classifier, samples, unchanged, spoil, message
):
    model = new_classifier()
    with unchanged(model), pytest.raises(InputError, match=message):
        model.fit(spoil(named(samples[0])), samples[1])


@pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse columns found")
def test_frames_with_some_sparse_columns_are_learned(new_classifier, samples):
    X, y = named(samples[0]), samples[1]
    mixed = X.astype({"x0": pd.SparseDtype(float, np.nan)})
    np.testing.assert_array_equal(
        new_classifier().fit(mixed, y).predict(mixed), new_classifier().fit(X, y).predict(X)
    )


def test_a_sparse_matrix_of_another_width_gets_an_error_about_the_width(new_classifier, samples):
    X, y = csr_array(samples[0]), samples[1]
    with pytest.raises(ValueError, match="63 features, but IF2NetClassifier is expecting 64"):
        new_classifier().fit(X, y).predict(X[:, :-1])


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels_leave_an_unfitted_model_unfitted(new, samples, unchanged, case):
    spoil, hint = BAD_LABELS[case]
    X, y = samples
    model = new()
    assert_refused(model, unchanged, lambda: learn(model, X, spoil(y)), hint)


@pytest.mark.parametrize("fitted", [True, False], ids=["fitted", "unfitted"])
def test_missing_y_is_refused(new, digits, unchanged, fitted):
    X, y = digits
    model = learn(new(), X[:50], y[:50]) if fitted else new()
    assert_refused(model, unchanged, lambda: learn(model, X, None), "give y")


@pytest.mark.parametrize("fitted", [True, False], ids=["fitted", "unfitted"])
def test_the_classifier_refuses_continuous_targets(new_classifier, digits, unchanged, fitted):
    X, y = digits
    model = new_classifier().fit(X[:50], y[:50]) if fitted else new_classifier()
    with unchanged(model), pytest.raises(ValueError, match="Unknown label type: continuous"):
        model.partial_fit(X[:50], y[:50] + 0.5)


def test_fitting_again_on_bad_data_keeps_the_model(new_classifier, digits, unchanged):
    X, y = digits
    model = new_classifier().fit(X[:50], y[:50])
    with unchanged(model), pytest.raises(ValueError, match="NaN"):
        model.fit(with_value(np.nan)(X), y)


@pytest.mark.parametrize("settings", [{}, {"rule": "gradient", "epochs": 1}], ids=str)
@pytest.mark.parametrize("fitted", [True, False], ids=["fitted", "unfitted"])
@pytest.mark.parametrize("case", BAD_BATCHES)
def test_a_stream_with_a_bad_third_batch_is_not_learned_at_all(new, digits, unchanged, case, fitted, settings):
    X, y = digits
    model = new(**settings)
    if fitted:
        learn(model, X[:50], y[:50] % 5)

    def batches():
        yield X[50:80], y[50:80]
        yield X[80:110], y[80:110]
        yield BAD_BATCHES[case](X[110:140], y[110:140])
        raise AssertionError("a batch after the bad one was read")

    with unchanged(model), pytest.raises(InputError) as caught:
        learn(model, batches(), None)
    assert_sentence(caught.value)


def test_a_stream_with_labels_of_another_kind_is_refused_at_its_first_batch(new, digits, unchanged):
    X, y = digits
    model = learn(new(), X[:50], y[:50])

    def batches():
        yield X[50:80], y[50:80].astype(str)
        raise AssertionError("a batch after the bad one was read")

    with unchanged(model), pytest.raises(InputError, match="cannot be mixed"):
        learn(model, batches(), None)


def test_a_stream_that_raises_an_error_is_not_learned_at_all(new, digits, unchanged):
    X, y = digits
    model = learn(new(), X[:50], y[:50])

    def broken():
        yield X[50:80], y[50:80] + 10
        raise OSError("disk failure")

    with unchanged(model), pytest.raises(OSError, match="disk failure"):
        learn(model, broken(), None)


def test_predicting_before_learning_is_refused(new, digits):
    model = new()
    with pytest.raises(ValueError, match=r"Nothing has been learned yet|not fitted yet"):
        model.predict(digits[0])
