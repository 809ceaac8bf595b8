"""Learners that share one frozen encoder, and their comparison."""

import pytest

PRECISIONS = {
    "float64, ridge given": {"dtype": "float64", "ridge": 1e-2},
    "float64, ridge chosen": {"dtype": "float64"},
    "float32, ridge given": {"dtype": "float32", "ridge": 1e-2},
}


@pytest.fixture(scope="module", params=PRECISIONS)
def frozen(request, new_learner, digits):
    """A learner whose encoder all learners of a test share through fork()."""
    X, y = digits
    return new_learner(**PRECISIONS[request.param]).learn(X[:200], y[:200])


@pytest.fixture(scope="module")
def assert_equal_learners(digits):
    """Check that scores are equal to 1e-9 in float64; in float32 to 1e-3, with 99.9 % of the predictions equal."""
    X, _ = digits

    def check(one, other):
        assert one.classes.tolist() == other.classes.tolist()
        a, b = one.scores(X).double(), other.scores(X).double()
        tolerance = 1e-9 if one.config.dtype == "float64" else 1e-3
        assert float((a - b).abs().max() / b.abs().max()) <= tolerance
        assert (one.predict(X) == other.predict(X)).mean() >= 0.999

    return check
