"""Sparse matrices: the same model as from dense data, without a dense copy of all samples."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from if2net import IF2NetClassifier
from if2net.errors import InputError

FORMATS = ["csr", "csc", "coo", "lil", "bsr"]


@pytest.mark.parametrize("container", [sp.csr_matrix, *(getattr(sp, f"{name}_array") for name in FORMATS)])
@pytest.mark.parametrize("model", ["learner", "classifier"])
def test_sparse_samples_give_the_model_of_dense_ones(model, container, new_learner, new_classifier, digits):
    X, y = (part[:200] for part in digits)
    made = {"learner": new_learner, "classifier": new_classifier}[model]
    learn = "learn" if model == "learner" else "partial_fit"
    sparse, dense = made(width=60), made(width=60)
    for some in (slice(0, 150), slice(150, 200)):
        getattr(sparse, learn)(container(X[some]), y[some])
        getattr(dense, learn)(X[some], y[some])
    for one in (sparse, dense):
        one.forget(container(X[:20]), y[:20])
    np.testing.assert_array_equal(sparse.predict(container(X)), dense.predict(X))
    score = "scores" if model == "learner" else "predict_log_proba"
    np.testing.assert_allclose(getattr(sparse, score)(container(X)), getattr(dense, score)(X), rtol=1e-3, atol=1e-4)


def test_sparse_samples_never_become_dense_as_a_whole():
    """All numbers would take 200 MB in float32."""
    random = np.random.default_rng(0)
    X = sp.random_array((100_000, 500), density=0.002, format="csr", dtype=np.float32, rng=random)
    y = random.integers(3, size=100_000)
    classifier = IF2NetClassifier(encoder="linear", device="cpu").partial_fit(X[:100], y[:100])
    tracemalloc.start()
    classifier.partial_fit(X, y)
    classifier.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_wide_sparse_counts_are_folded_and_learned(new_classifier):
    random = np.random.default_rng(0)
    y = random.integers(2, size=60)
    X = sp.csr_array(random.poisson(0.02, (60, 9000)) + 3.0 * (np.arange(9000) < 30) * (y[:, None] == 1))
    classifier = IF2NetClassifier(device="cpu", random_state=0).fit(X[:40], y[:40])
    assert classifier.transform(X[:2]).shape == (2, 8193)
    assert classifier.score(X[40:], y[40:]) == 1


def test_weights_and_zero_rows_of_sparse_samples(new_learner, digits):
    X, y = digits[0][:200].copy(), digits[1][:200]
    X[5] = 0
    weights = np.arange(200) % 3
    sparse, dense = new_learner(width=60, ridge=1e-2), new_learner(width=60, ridge=1e-2)
    sparse.learn(sp.csr_array(X), y, sample_weight=weights)
    dense.learn(X, y, sample_weight=weights)
    np.testing.assert_allclose(sparse.scores(sp.coo_array(X)), dense.scores(X), rtol=1e-3, atol=1e-4)


def test_wide_indices_and_other_types_of_numbers(new_learner, digits):
    X, y = (part[:100] for part in digits)
    expected = new_learner(width=60).learn(X, y).scores(X)
    for dtype in (np.int8, np.uint16, np.int64, np.float32, np.longdouble):
        sparse = sp.csr_array(X.astype(dtype))
        sparse.indices, sparse.indptr = sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)
        np.testing.assert_allclose(
            new_learner(width=60).learn(sparse, y).scores(sparse), expected, rtol=1e-4, atol=1e-5
        )


def broken(X):
    X = sp.csr_array(X)
    X.indices[3] = 10_000
    return X


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: sp.csr_array(np.where(np.arange(64) == 3, np.nan, X)), "NaN or infinity"),
        (lambda X: sp.csr_array(X * 1j), "Complex"),
        (lambda X: sp.csr_array(X[:, :5]), "5 features"),
        (lambda X: sp.csr_array(X[:0]), "empty"),
        (lambda X: sp.coo_array(X[0]), "two dimensions"),
        (lambda X: sp.csr_array(X * 1e9), "as large as usual"),
        (broken, "damaged"),
    ],
    ids=["nan", "complex", "features", "empty", "one dimension", "units", "indices"],
)
def test_bad_sparse_samples_change_nothing(new_learner, digits, unchanged, spoil, message):
    X, y = (part[:100] for part in digits)
    learner = new_learner(width=60).learn(X, y)
    bad = spoil(X)
    with unchanged(learner), pytest.raises(InputError, match=message):
        learner.learn(bad, y[: bad.shape[0] if bad.ndim == 2 else 1])


def test_a_pipeline_of_words_needs_no_dense_step():
    texts = ["a cat and a dog", "the dog barks", "stocks fell", "the market and stocks"] * 5
    model = make_pipeline(CountVectorizer(), IF2NetClassifier(width=50, device="cpu", random_state=0))
    assert model.fit(texts, [0, 0, 1, 1] * 5).score(texts, [0, 0, 1, 1] * 5) == 1
