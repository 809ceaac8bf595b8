"""Samples streamed from host memory are learned like all others. Here blocks are copied to a CPU instead of a GPU."""

import numpy as np
import pytest
import torch

from if2net import learner as learner_module
from if2net import samples as samples_module
from if2net.decision import analytic
from if2net.errors import InputError
from if2net.samples import Streamed, worth_streaming

CPU = torch.device("cpu")


def stream(source, dtype=torch.float32):
    return Streamed(source, dtype, CPU, lambda block: torch.isfinite(block).all())


@pytest.fixture
def streaming(monkeypatch):
    """Stream data with more than 64 rows, as on a GPU."""
    monkeypatch.setattr(learner_module, "worth_streaming", lambda X, device: len(X) > 64)
    monkeypatch.setattr(samples_module, "ROWS", 64)
    monkeypatch.setitem(learner_module.COUNTING_BLOCK, "cpu", 64)


@pytest.mark.parametrize("rows", [1, 7, 20, 50])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8, torch.bool])
def test_every_iteration_yields_all_samples_in_order(rows, dtype):
    source = (torch.arange(60).reshape(3, 20).T % 7).to(dtype)  # not contiguous
    blocks = stream(source).split(rows)
    for _ in range(2):
        assert torch.equal(torch.cat([block.clone() for block in blocks]), source.float())


def test_bad_samples_are_detected_during_the_iteration_and_explained():
    source = torch.ones(20, 3)
    source[17, 1] = torch.nan
    explained = []
    X = Streamed(source, torch.float32, CPU, lambda block: torch.isfinite(block).all(), explained.append)
    assert len(list(X.split(6))) == 4
    assert not bool(X.good)
    with pytest.raises(InputError):
        X.check()
    assert len(explained) == 1
    stream(torch.ones(20, 3)).check()


def test_only_long_data_outside_the_gpu_is_streamed():
    long = torch.zeros(samples_module.ROWS + 1, 1)
    assert worth_streaming(long, torch.device("cuda"))
    assert not worth_streaming(long[1:], torch.device("cuda"))
    assert not worth_streaming(long.to("meta"), torch.device("cuda"))
    assert not worth_streaming(long, CPU)


SETTINGS = [
    {},
    {"standardise": "feature"},
    {"encoder": "paper", "layers": "5x5,10x5"},
    {"rule": "gradient", "epochs": 1},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_streamed_task_is_learned_like_one_in_memory(new_learner, digits, settings, request):
    X, y = digits[0][:400], digits[1][:400]
    X = X + np.random.default_rng(0).uniform(size=X.shape)  # a constant pixel would have weights of pure rounding
    settings = {"dtype": "float64", **settings}
    whole = new_learner(**settings).learn(X[:200], y[:200]).learn(X[200:], y[200:])
    request.getfixturevalue("streaming")
    learner = new_learner(**settings).learn(X[:200], y[:200]).learn(X[200:], y[200:])
    np.testing.assert_allclose(learner.scores(X), whole.scores(X), rtol=1e-6, atol=1e-7)
    if "rule" not in settings:
        learner.forget(X[200:], y[200:])
        assert int(learner.decision.total.counts.sum()) == 200


def test_streamed_predictions_are_equal_to_the_bit(new_learner, digits, request):
    X, y = digits
    learner = new_learner().learn(X[:300], y[:300])
    scores = learner.scores(X)
    request.getfixturevalue("streaming")
    assert torch.equal(learner.scores(X), scores)


BAD = {"NaN": (np.nan, "NaN or infinity"), "infinity": (np.inf, "NaN or infinity"), "huge": (1e300, "too large for")}


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_bad_value_in_a_late_block_changes_nothing(new_learner, digits, unchanged, kind, settings):
    value, message = BAD[kind]
    X, y = digits[0][:300], digits[1][:300]
    bad = X.copy()
    bad[250, 3] = value
    fresh, learner = new_learner(**settings), new_learner(**settings).learn(X, y)
    with unchanged(fresh), pytest.raises(InputError, match=message):
        fresh.learn(bad, y)
    actions = [lambda: learner.learn(bad, y + 5), lambda: learner.scores(bad)]
    if "rule" not in settings:
        actions.append(lambda: learner.forget(bad, y))
    for action in actions:
        with unchanged(learner), pytest.raises(InputError, match=message):
            action()


@pytest.mark.usefixtures("streaming")
def test_values_too_far_from_the_first_data_are_refused_in_a_stream(new_learner, digits, unchanged):
    X, y = digits[0][:300], digits[1][:300]
    far = X.copy()
    far[250, 3] = 1e30
    learner, raw = new_learner(standardise="common").learn(X, y), new_learner(standardise="none")
    with unchanged(learner), pytest.raises(InputError, match="too far from the first data"):
        learner.learn(far, y)
    with unchanged(raw), pytest.raises(InputError, match="too far from the first data"):
        raw.learn(far, y)


@pytest.mark.usefixtures("streaming")
def test_a_bad_stream_leaves_a_wide_learner_unchanged(new_learner, digits, unchanged, monkeypatch):
    monkeypatch.setattr(analytic, "UPDATE_WIDTH", 10)
    X, y = digits[0][:300], digits[1][:300]
    bad = X.copy()
    bad[299, 3] = np.nan
    learner = new_learner().learn(X, y)
    with unchanged(learner), pytest.raises(InputError, match="NaN"):
        learner.learn(bad, y + 5)
