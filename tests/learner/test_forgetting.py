"""Forgetting equals never having learned, and is refused before anything changes where it cannot be exact."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from if2net import IF2Net, modelfile
from if2net.errors import ConfigurationError, InputError
from if2net.membership import FORMER_PLACES, restored_members


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(
    kept=st.integers(20, 200),
    forgotten=st.integers(1, 200),
    parts=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_forgetting_equals_never_having_learned(frozen, digits, assert_equal_learners, kept, forgotten, parts, seed):
    X, y = digits
    order = np.random.default_rng(seed).permutation(len(X))
    stay, go = order[:kept], order[kept : kept + forgotten]
    learner = frozen.fork().learn(X[order[: kept + forgotten]], y[order[: kept + forgotten]])
    for part in np.array_split(go, parts):
        if len(part):
            learner.forget(X[part], y[part])
    assert_equal_learners(learner, frozen.fork().learn(X[stay], y[stay]))


def test_a_class_without_samples_is_removed(frozen, digits, assert_equal_learners):
    X, y = digits[0][:400], digits[1][:400]
    fours = y == 4
    learner = frozen.fork().learn(X, y).forget(X[fours], y[fours])
    assert 4 not in learner.classes
    assert learner.scores(X[:5]).shape == (5, 9)
    assert_equal_learners(learner, frozen.fork().learn(X[~fours], y[~fours]))


def test_a_learner_that_forgot_everything_can_learn_again(frozen, digits):
    X, y = digits
    learner = frozen.fork().learn(X[:100], y[:100]).forget(X[:100], y[:100])
    assert len(learner.classes) == 0
    with pytest.raises(InputError, match="Nothing has been learned yet"):
        learner.predict(X)
    fresh = frozen.fork().learn(X[100:300], y[100:300] + 5)
    np.testing.assert_array_equal(learner.learn(X[100:300], y[100:300] + 5).scores(X), fresh.scores(X))
    assert learner.classes.tolist() == fresh.classes.tolist()


@pytest.mark.parametrize(
    ("samples", "label", "message"),
    [(13, 3, "12 learned samples, fewer than the 13 to forget"), (1, 77, "never been learned: 77")],
    ids=["more than were learned", "an unknown class"],
)
def test_forgetting_unlearned_samples_is_refused(new_learner, digits, unchanged, samples, label, message):
    X, y = digits
    threes = X[y == 3]
    learner = new_learner().learn(threes[:12], [3] * 12).learn(X[y == 5], y[y == 5])
    with unchanged(learner), pytest.raises(InputError, match=message):
        learner.forget(threes[:samples], [label] * samples)


@pytest.mark.parametrize(
    "case", ["one sample many times", "samples never learned", "another label", "forgotten already", "in one batch"]
)
@pytest.mark.parametrize("loaded", [False, True], ids=["in memory", "from a file"])
def test_forgetting_what_cannot_be_is_refused(new_learner, digits, unchanged, tmp_path, case, loaded):
    X, y = digits
    learner = new_learner().learn(X[:300], y[:300])
    learner.merge(learner.fork().learn(X[300:400], y[300:400]))
    if loaded:
        learner.save(tmp_path / "model.if2")
        learner = IF2Net.load(tmp_path / "model.if2", device="cpu")
    if case == "forgotten already":
        learner.forget(X[10:20], y[10:20])
    wrong = {
        "one sample many times": (np.repeat(X[:1], 20, axis=0), np.repeat(y[:1], 20)),
        "samples never learned": (X[600:620], y[600:620]),
        "another label": (X[:20], (y[:20] + 1) % 10),
        "forgotten already": (X[10:20], y[10:20]),
        "in one batch": (X[[5, 6, 7, 5]], y[[5, 6, 7, 5]]),
    }[case]
    with unchanged(learner), pytest.raises(InputError, match="never learned with these labels"):
        learner.forget(*wrong)
    learner.forget(X[300:400], y[300:400])


def test_a_sample_learned_twice_can_be_forgotten_twice(new_learner, digits):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100]).learn(X[:1], y[:1])
    learner.forget(X[:1], y[:1]).forget(X[:1], y[:1])
    with pytest.raises(InputError, match="never learned with these labels"):
        learner.forget(X[:1], y[:1])


def test_a_learner_without_data_has_nothing_to_forget(new_learner, digits):
    X, y = digits
    with pytest.raises(InputError, match="nothing to forget"):
        new_learner().forget(X[:5], y[:5])


@pytest.mark.parametrize("settings", [{"rule": "gradient"}, {"rule": "ewc"}, {"representation": "per-task"}], ids=str)
def test_an_inexact_learner_refuses_to_forget(new_learner, digits, unchanged, settings):
    X, y = digits
    learner = new_learner(**settings, epochs=1).learn(X[:50], y[:50])
    with unchanged(learner), pytest.raises(ConfigurationError, match=r"^Only the analytic rule .* forget exactly"):
        learner.forget(X[:5], y[:5])


# ---------------------------------------------------------------------- large and small samples

UNSCALED = {"device": "cpu", "encoder": "linear", "standardise": "none"}


def two_classes(scale, first):
    """200 samples of the classes `first` and `first` + 1, multiplied by `scale`."""
    random = np.random.default_rng(first)
    y = np.arange(200) % 2 + first
    return scale * (random.normal(size=(200, 10)) + 3 * np.eye(10)[y]), y


@pytest.mark.parametrize("way", ["in one process", "across files", "after a merge"])
def test_forgetting_bit_by_bit_is_refused_where_forgetting_at_once_is(way, tmp_path):
    X, y = two_classes(100.0, 2)
    learner = IF2Net(**UNSCALED).learn(*two_classes(1.0, 0)).learn(X, y)
    learner.forget(X[:150], y[:150]).forget(X[150:199], y[150:199])
    if way == "across files":
        learner.save(tmp_path / "model.if2")
        learner = IF2Net.load(tmp_path / "model.if2", "cpu")
    if way == "after a merge":
        learner = learner.fork().learn(*two_classes(1.0, 4)).merge(learner)
    with pytest.raises(InputError, match="lost in rounding"):
        learner.forget(X[199:], y[199:])


@pytest.mark.parametrize(
    "settings", [UNSCALED, {"device": "cpu", "width": 200, "standardise": "none"}], ids=["unscaled", "wide"]
)
@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_forgetting_is_refused_where_the_rest_would_be_lost_in_rounding(settings, scale):
    learner = IF2Net(**settings).learn(*two_classes(1.0, 0)).learn(*two_classes(scale, 2))
    G, X = learner.decision.total.G.clone(), two_classes(1.0, 0)[0]
    scores = learner.scores(X)
    with pytest.raises(InputError, match="lost in rounding"):
        learner.forget(*two_classes(scale, 2))
    assert torch.equal(learner.decision.total.G.tril(), G.tril())
    assert torch.equal(learner.scores(X), scores)
    assert learner.classes.tolist() == [0, 1, 2, 3]


def test_float64_can_forget_much_larger_samples():
    alone = IF2Net(**UNSCALED, dtype="float64").learn(*two_classes(1.0, 0))
    learner = IF2Net(**UNSCALED, dtype="float64").learn(*two_classes(1.0, 0)).learn(*two_classes(1e4, 2))
    learner.forget(*two_classes(1e4, 2))
    X = two_classes(1.0, 0)[0]
    torch.testing.assert_close(learner.scores(X), alone.scores(X), rtol=1e-5, atol=1e-5)


def test_much_smaller_samples_and_then_all_the_rest_can_be_forgotten():
    learner = IF2Net(**UNSCALED).learn(*two_classes(1.0, 0)).learn(*two_classes(1e4, 2))
    assert learner.forget(*two_classes(1.0, 0)).classes.tolist() == [2, 3]
    assert learner.forget(*two_classes(1e4, 2)).classes.tolist() == []


@pytest.mark.parametrize("width", [100, 2500])
@pytest.mark.parametrize("samples", [150, 600])
def test_samples_that_were_never_learned_are_refused_where_their_hashes_do_not_show_it(
    new_learner, digits, unchanged, width, samples
):
    X, y = digits
    learner = new_learner(width=width).learn(X[:samples], y[:samples])
    foreign = X[1000:1200] * 3
    learner._state.members.fill_(1000)  # as after many more samples
    for rows in (slice(0, 1), slice(0, 10)):
        labels = y[:samples][rows]
        with unchanged(learner), pytest.raises(InputError, match="never learned: what would be left"):
            learner.forget(foreign[rows], labels)
    learner.forget(X[:10], y[:10])


def test_a_model_with_the_smaller_table_of_older_files_forgets_and_merges(new_learner, digits, tmp_path):
    X, y = digits
    learner = new_learner().learn(X[:300], y[:300])
    learner.save(tmp_path / "new.if2")
    tensors, header = modelfile.read(tmp_path / "new.if2")
    table = restored_members(tensors).view(-1, FORMER_PLACES).sum(dim=0, dtype=torch.int32)
    tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("members")}
    modelfile.write(tmp_path / "old.if2", tensors | {"members": table}, header)
    old = IF2Net.load(tmp_path / "old.if2", device="cpu")
    new = old.fork().learn(X[300:500], y[300:500])
    for one, other in ((old, new), (new.fork().merge(new), old.fork().merge(old))):
        one.merge(other)
        with pytest.raises(InputError, match="never learned with these labels"):
            one.forget(X[600:605], y[600:605])
        one.forget(X[100:400], y[100:400])
        one.save(tmp_path / "again.if2")
        assert IF2Net.load(tmp_path / "again.if2", device="cpu").samples == 200
