"""A class is forgotten without its samples: of these, only the scatter around their mean stays."""

import copy

import numpy as np
import pytest
import torch

from if2net import IF2Net, modelfile
from if2net.decision.symmetric import symmetric
from if2net.errors import ConfigurationError, InputError, ModelFileError


@pytest.fixture(scope="module")
def learned(new_learner, digits):
    return new_learner(dtype="float64").learn(*digits)


@pytest.fixture
def learner(learned):
    return copy.deepcopy(learned)


def test_the_statistics_are_those_without_the_class_but_for_its_scatter(learner, digits):
    X, y = digits
    eights = y == 8
    V = learner.represent(X[eights])
    without = learner.fork().learn(X[~eights], y[~eights])
    learner.forget_class(8)
    assert learner.classes.tolist() == without.classes.tolist()
    assert learner.samples == without.samples == (~eights).sum()
    for ours, theirs in zip(
        (learner.decision.total, learner.decision.held), (without.decision.total, without.decision.held), strict=True
    ):
        torch.testing.assert_close(ours.Q, theirs.Q)
        assert ours.counts.tolist() == theirs.counts.tolist()
    scatter = (V - V.mean(dim=0)).T @ (V - V.mean(dim=0))
    assert scatter[-1].abs().max() < 1e-9  # the constant, which is the intercept
    torch.testing.assert_close(symmetric(learner.decision.total.G), symmetric(without.decision.total.G) + scatter)
    assert learner.decision.total.nameless == eights.sum()
    assert 0 < learner.decision.held.nameless < eights.sum()


def test_the_other_classes_are_recognised_as_before(learner, digits):
    X, y = digits
    others = y >= 5
    for digit in range(5):
        learner.forget_class(digit)
    assert learner.classes.tolist() == [5, 6, 7, 8, 9]
    assert (learner.predict(X[others]) == y[others]).mean() > 0.97
    exact = learner.fork().learn(X[others], y[others])
    assert learner.decision.temperature == pytest.approx(exact.decision.temperature, rel=0.25)


def test_a_class_of_one_sample_is_forgotten_exactly(learner, digits):
    X, y = digits
    ten = learner.fork().learn(X, y).learn(X[:1], [10])
    torch.testing.assert_close(ten.forget_class(10).scores(X), learner.scores(X), rtol=1e-6, atol=1e-6)


def test_the_order_of_forgetting_learning_and_merging_does_not_matter(learned, digits):
    X, y = digits
    low, high = y < 6, y >= 6
    first = learned.fork().learn(X[low], y[low]).forget_class(3).learn(X[high], y[high])
    second = learned.fork().learn(X, y).forget_class(3)
    third = learned.fork().learn(X[high], y[high]).merge(learned.fork().learn(X[low], y[low]).forget_class(3))
    fourth = learned.fork().learn(X, y).learn(X[:200] + 1, y[:200]).forget(X[:200] + 1, y[:200]).forget_class(3)
    for other in (second, third, fourth):
        torch.testing.assert_close(first.scores(X), other.scores(X), rtol=1e-6, atol=1e-6)
        assert other.decision.temperature == pytest.approx(first.decision.temperature, rel=0.05)
        assert (other.samples, other.decision.total.nameless) == (first.samples, first.decision.total.nameless)


def test_samples_of_the_class_cannot_be_forgotten_once_more(learner, digits, unchanged, tmp_path):
    X, y = digits
    threes = X[y == 3]
    learner.forget_class(3)
    with unchanged(learner), pytest.raises(InputError, match="never been learned: 3"):
        learner.forget(threes[:5], [3] * 5)
    learner.save(tmp_path / "model.if2")
    learner = IF2Net.load(tmp_path / "model.if2", device="cpu").learn(threes[100:], [3] * len(threes[100:]))
    with unchanged(learner), pytest.raises(InputError, match="never learned with these labels"):
        learner.forget(threes[:5], [3] * 5)
    learner.merge(learner.fork().learn(threes[:100], [3] * 100))  # it knows that the class is another one
    assert learner.forget(threes, [3] * len(threes)).classes.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_a_fork_that_has_the_class_can_still_be_merged(learner, digits):
    X, y = digits
    threes = X[y == 3] + 0.5
    fork = learner.fork().learn(threes[:50], [3] * 50)
    assert learner.forget_class(3).merge(fork).samples == (y != 3).sum() + 50
    assert learner.merge(learner.fork().learn(threes[50:60], [3] * 10)).forget(threes[:60], [3] * 60).samples > 0


def test_the_last_class_leaves_nothing(learned, digits):
    X, y = digits
    learner = learned.fork().learn(X[y == 1], y[y == 1]).forget_class(1)
    assert (len(learner.classes), learner.samples, learner.decision.total.nameless) == (0, 0, 0)
    fresh = learned.fork().learn(X, y)
    assert torch.equal(learner.learn(X, y).scores(X), fresh.scores(X))
    learner.forget(X[y == 1], y[y == 1])


def test_a_file_keeps_the_scatter_and_its_number_of_samples(learner, digits, tmp_path):
    path = tmp_path / "model.if2"
    learner.forget_class(8).save(path)
    loaded = IF2Net.load(path, device="cpu")
    assert torch.equal(loaded.scores(digits[0]), learner.scores(digits[0]))
    assert loaded.decision.held.nameless == learner.decision.held.nameless
    tensors, header = modelfile.read(path)
    for wrong in ({"nameless": torch.tensor([1, 2])}, {"nameless": torch.tensor([-1, -1])}):
        modelfile.write(path, tensors | wrong, header)
        with pytest.raises(ModelFileError, match=r"held out|impossible"):
            IF2Net.load(path)
    for wrong in ({"retired": [2**63]}, {"retired": ["a"]}, {"retired": None}):
        modelfile.write(path, tensors, header | wrong)
        with pytest.raises(ModelFileError, match=r"hash of a class|'retired'"):
            IF2Net.load(path)


@pytest.mark.parametrize(("name", "sentence"), [(77, "never been learned: 77"), ("three", "cannot be mixed")])
def test_only_a_known_class_can_be_forgotten(learner, unchanged, name, sentence):
    with unchanged(learner), pytest.raises(InputError, match=sentence):
        learner.forget_class(name)


def test_a_class_that_would_leave_only_rounding_errors_is_not_forgotten(unchanged):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 3)), np.arange(100) % 2
    learner = IF2Net(device="cpu", encoder="linear", standardise="none").learn(X, y).learn([[1e6, 1e6, 1e6]], [2])
    with unchanged(learner), pytest.raises(InputError, match="lost in rounding"):
        learner.forget_class(2)


def test_an_inexact_learner_cannot_forget_a_class(new_learner, digits, unchanged):
    learner = new_learner(rule="gradient", epochs=1).learn(digits[0][:50], digits[1][:50])
    with unchanged(learner), pytest.raises(ConfigurationError, match="Only the analytic rule"):
        learner.forget_class(1)
