"""torch's modes of the caller do not change what is learned, predicted and kept."""

from contextlib import contextmanager, nullcontext

import pytest
import torch

from if2net import IF2Net, IF2NetClassifier
from if2net.errors import ConfigurationError
from if2net.torch_modes import default_modes

MODES = {
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "inference mode": torch.inference_mode,
    "gradients": torch.enable_grad,
    "another default device": lambda: torch.device("meta"),
}


@pytest.fixture(params=MODES.values(), ids=MODES)
def mode(request):
    return request.param


def samples(kind):
    random = torch.Generator().manual_seed(0)
    X = torch.rand(160, *((28, 28) if kind == "pictures" else (30,)), generator=random)
    return X, torch.arange(160) % 3


def of(learner):
    """Everything that a learner keeps and predicts with."""
    return [*learner.tensors().values(), *learner.solve().solved_tensors().values()]


@pytest.mark.parametrize("kind", ["rows", "pictures"])
@pytest.mark.parametrize("settings", [{}, {"encoder": "linear", "standardise": "none"}], ids=str)
def test_a_learner_is_the_same_in_every_mode(mode, kind, settings):
    if kind == "pictures" and settings:
        pytest.skip("pictures have the innate encoder")
    X, y = samples(kind)
    learners = []
    for context in (nullcontext, mode):
        learner = IF2Net(device="cpu", **settings)
        with context():
            learner.learn(X[:80], y[:80]).learn([(X[80:140], y[80:140])])
            scores = learner.scores(X)
            learner.forget(X[20:50], y[20:50])
            learner.merge(learner.fork().learn(X[140:], y[140:]))
        learners.append((of(learner), scores, learner.probabilities(X)))
    for one, other in zip(learners[0][0], learners[1][0], strict=True):
        assert torch.equal(one, other)
    assert torch.equal(learners[0][1], learners[1][1])
    assert torch.equal(learners[0][2], learners[1][2])


def test_a_learner_goes_on_outside_the_mode_in_which_it_began_or_was_loaded(mode, tmp_path):
    X, y = samples("rows")
    with mode():
        learner = IF2Net(device="cpu").learn(X[:80], y[:80])
        learner.save(tmp_path / "model.if2")
        loaded, copied = IF2Net.load(tmp_path / "model.if2", device="cpu"), learner.fork().merge(learner)
    expected = IF2Net(device="cpu").learn(X[:80], y[:80]).learn(X[80:], y[80:])
    for part in (learner, loaded, copied):
        part.learn(X[80:], y[80:])
        part.forget(X[:10], y[:10]).learn(X[:10], y[:10])
        torch.testing.assert_close(part.scores(X), expected.scores(X), rtol=1e-4, atol=1e-4)


def test_a_generator_of_batches_runs_in_the_mode_of_the_caller():
    X, y = samples("rows")
    seen = []

    def batches():
        for part, labels in zip(X.split(80), y.split(80), strict=True):
            seen.append(torch.is_autocast_enabled("cpu"))
            yield part, labels

    with torch.autocast("cpu", torch.bfloat16):
        IF2NetClassifier(device="cpu").partial_fit(batches())
    assert seen == [True, True]


def test_the_modes_of_the_caller_come_back():
    with torch.autocast("cpu", torch.bfloat16), torch.inference_mode():
        with default_modes():
            assert not torch.is_autocast_enabled("cpu")
            assert not torch.is_inference_mode_enabled()
            assert not torch.is_grad_enabled()
        assert torch.is_autocast_enabled("cpu")
        assert torch.is_inference_mode_enabled()


@contextmanager
def matmul_precision(precision):
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


@contextmanager
def precision_of_all(precision):
    before = torch.backends.fp32_precision
    torch.backends.fp32_precision = precision
    try:
        yield
    finally:
        torch.backends.fp32_precision = before


LOWER_PRECISIONS = {
    "medium": lambda: matmul_precision("medium"),
    "high": lambda: matmul_precision("high"),
    "bfloat16": lambda: precision_of_all("bf16"),
    "tf32": lambda: precision_of_all("tf32"),
}


@pytest.mark.parametrize("lower", LOWER_PRECISIONS.values(), ids=LOWER_PRECISIONS)
@pytest.mark.parametrize("change", ["learn", "learn batches", "forget", "forget a class", "first prediction"])
def test_nothing_is_learned_forgotten_or_solved_in_a_lower_precision(lower, change):
    X, y = samples("rows")
    learner = IF2Net(device="cpu").learn(X, y)
    changes = {
        "learn": lambda: learner.learn(X + 1, y),
        "learn batches": lambda: learner.learn([(X + 1, y)]),
        "forget": lambda: learner.forget(X[:9], y[:9]),
        "forget a class": lambda: learner.forget_class(1),
        "first prediction": lambda: learner.predict(X),
    }
    before = {name: value.clone() for name, value in learner.tensors().items()}
    with lower(), pytest.raises(ConfigurationError, match="highest"):
        changes[change]()
    assert all(torch.equal(value, before[name]) for name, value in learner.tensors().items())
    changes[change]()


def test_a_learned_model_predicts_in_a_lower_precision():
    X, y = samples("rows")
    learner = IF2Net(device="cpu").learn(X, y).solve()
    with matmul_precision("medium"):
        predicted = learner.predict(X)
    assert (predicted == learner.predict(X)).mean() > 0.9
