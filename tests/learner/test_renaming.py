"""A renamed class keeps everything but its name."""

import numpy as np
import pytest
import torch

from if2net import IF2Net
from if2net.decision import analytic
from if2net.errors import InputError


@pytest.fixture
def learner(new_learner, digits):
    X, y = digits
    return new_learner(dtype="float64").learn(X[:600], y[:600])


NAMES = {digit: f"digit {9 - digit}" for digit in range(10)}  # in another order


@pytest.mark.parametrize("loaded", [False, True], ids=["in memory", "from a file"])
def test_a_rename_changes_only_the_name(learner, digits, tmp_path, monkeypatch, loaded):
    monkeypatch.setattr(analytic, "MANY_CLASSES", 5)  # then the ridge depends on the hashes of the classes
    X, y = digits
    scores, ridge = learner.scores(X), learner.decision.ridge
    learner.rename(NAMES)
    if loaded:
        learner.save(tmp_path / "model.if2")
        learner = IF2Net.load(tmp_path / "model.if2", device="cpu")
    assert learner.classes.tolist() == [f"digit {digit}" for digit in range(10)]
    assert torch.equal(learner.scores(X), scores.flip(1))
    learner.learn(X[600:], [NAMES[digit] for digit in y[600:]])
    learner.forget(X[600:], [NAMES[digit] for digit in y[600:]])
    assert learner.decision.ridge == pytest.approx(ridge, rel=1e-6)
    learner.forget(X[:100], [NAMES[digit] for digit in y[:100]])
    assert learner.samples == 500
    with pytest.raises(InputError, match="never learned with these labels"):
        learner.forget(X[100:110], [NAMES[digit] for digit in y[90:100]])


def test_more_samples_are_learned_under_the_new_name(learner, digits):
    X, y = digits
    whole = learner.fork().learn(X, y)
    learner.rename(3, 30).learn(X[600:], np.where(y[600:] == 3, 30, y[600:]))
    order = [0, 1, 2, 9, *range(3, 9)]
    torch.testing.assert_close(learner.scores(X)[:, order], whole.scores(X), rtol=1e-6, atol=1e-6)


def test_forks_from_before_and_after_a_rename_are_merged_into_the_renamed_class(learner, digits):
    X, y = digits
    threes = X[600:][y[600:] == 3]
    early = learner.fork().learn(threes[:20], [3] * 20)
    late = learner.rename(3, 30).fork().learn(threes[20:40], [30] * 20).learn(X[:50], [3] * 50)
    learner.merge(early).merge(late)
    assert learner.classes.tolist() == [*range(10), 30]  # 3 is another class now
    learner.forget(threes[:40], [30] * 40).forget(X[:50], [3] * 50)
    assert 3 not in learner.classes
    with pytest.raises(InputError, match="never"):
        learner.forget(threes[:1], [30])


def test_learners_that_use_a_name_for_different_classes_are_not_merged(learner, digits, unchanged):
    X, y = digits
    other = learner.fork().learn(X[600:700], y[600:700] + 30)
    learner.rename(3, 33)
    with unchanged(learner), unchanged(other), pytest.raises(InputError, match="a class 33, but it is not the same"):
        learner.merge(other)
    assert learner.merge(other.rename(33, 43)).samples == 700


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ((3, 4), "Two classes would have the name 4"),
        ((77, 78), "never been learned: 77"),
        ((3, "three"), "cannot be mixed"),
        ((3, None), "not NoneType"),
        (({3: 4, 4: 5},), "Two classes would have the name 5"),
    ],
)
def test_a_rename_that_cannot_be_is_refused(learner, unchanged, names, sentence):
    with unchanged(learner), pytest.raises(InputError, match=sentence):
        learner.rename(*names)


def test_a_learner_without_classes_has_nothing_to_rename(learner):
    with pytest.raises(InputError, match=r"nothing to rename|never been learned"):
        learner.fork().rename(3, 4)
