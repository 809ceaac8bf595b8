"""IF2Net: learning in any order is learning at once; forgetting and merging are exact; predictions are agnostic."""

import copy
import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from if2net.errors import ConfigurationError, InputError

drawn = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
PRECISIONS = {
    "float64, ridge given": {"dtype": "float64", "ridge": 1e-2},
    "float64, ridge chosen": {"dtype": "float64"},
    "float32, ridge given": {"dtype": "float32", "ridge": 1e-2},
}
SMALL_PAPER = {"encoder": "paper", "layers": "5x5,10x5", "width": None}


@pytest.fixture(scope="module", params=PRECISIONS)
def frozen(request, new_learner, digits):
    """A learner whose encoder all learners of a test share through fork()."""
    X, y = digits
    return new_learner(**PRECISIONS[request.param]).learn(X[:200], y[:200])


@pytest.fixture(scope="module")
def assert_equal_learners(digits):
    """Equal to 1e-9 in float64; to 1e-3, and in 99.9 % of the predictions, in float32."""
    X, _ = digits

    def check(one, other):
        assert one.classes.tolist() == other.classes.tolist()
        a, b = one.scores(X).double(), other.scores(X).double()
        tolerance = 1e-9 if one.config.dtype == "float64" else 1e-3
        assert float((a - b).abs().max() / b.abs().max()) <= tolerance
        assert (one.predict(X) == other.predict(X)).mean() >= 0.999

    return check


# ---------------------------------------------------------------------- classes that appear


def test_classes_appear_at_any_time_and_stay_sorted(new_learner, digits):
    X, y = digits
    learner = new_learner()
    for label in (7, 2, 9):
        learner.learn(X[y == label], y[y == label])
    assert learner.classes.tolist() == [2, 7, 9]
    seen = np.isin(y, [2, 7, 9])
    assert (learner.predict(X[seen]) == y[seen]).mean() > 0.97


def test_a_single_class_is_always_predicted(new_learner, digits):
    X, _ = digits
    learner = new_learner().learn(X[:20], ["only"] * 20)
    assert set(learner.predict(X)) == {"only"}


def test_a_learner_can_start_with_a_single_sample(new_learner, digits):
    X, y = digits
    learner = new_learner().learn(X[:1], y[:1])
    assert learner.predict(X[:1]).tolist() == [y[0]]


def test_a_class_seen_in_one_sample_is_learned(new_learner, digits):
    X, y = digits
    zeros, one = X[y == 0], X[y == 1][:1]
    learner = new_learner().learn(zeros, np.zeros(len(zeros), int)).learn(one, [1])
    assert learner.predict(one).tolist() == [1]
    assert (learner.predict(zeros) == 0).all()


def test_samples_that_repeat_in_a_batch_count_each_time(new_learner, digits):
    X, y = digits
    base = new_learner(dtype="float64", ridge=0.1).learn(X[:50], y[:50])
    apart = base.fork().learn(X[:2], y[:2]).learn(X[:2], y[:2])
    together = base.fork().learn(X[[0, 0, 1, 1]], y[[0, 0, 1, 1]])
    np.testing.assert_allclose(apart.scores(X), together.scores(X), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------- order, forgetting, merging


@drawn
@given(sizes=st.lists(st.integers(1, 80), min_size=1, max_size=7), seed=seeds)
def test_learning_in_any_split_and_order_is_learning_at_once(frozen, digits, assert_equal_learners, sizes, seed):
    X, y = digits
    order = np.random.default_rng(seed).permutation(len(X))[: sum(sizes)]
    split = frozen.fork()
    for part in np.split(order, np.cumsum(sizes)[:-1]):
        split.learn(X[part], y[part])
    at_once = frozen.fork().learn(X[np.sort(order)], y[np.sort(order)])
    assert_equal_learners(split, at_once)


@drawn
@given(kept=st.integers(20, 200), forgotten=st.integers(1, 200), parts=st.integers(1, 3), seed=seeds)
def test_forgetting_is_never_having_learned(frozen, digits, assert_equal_learners, kept, forgotten, parts, seed):
    X, y = digits
    order = np.random.default_rng(seed).permutation(len(X))
    stay, go = order[:kept], order[kept : kept + forgotten]
    learner = frozen.fork().learn(X[order[: kept + forgotten]], y[order[: kept + forgotten]])
    for part in np.array_split(go, parts):
        if len(part):
            learner.forget(X[part], y[part])
    assert_equal_learners(learner, frozen.fork().learn(X[stay], y[stay]))


@drawn
@given(sizes=st.lists(st.integers(1, 80), min_size=2, max_size=5), by_class=st.booleans(), seed=seeds)
def test_merging_is_one_learner_having_seen_it_all(frozen, digits, assert_equal_learners, sizes, by_class, seed):
    X, y = digits
    order = np.random.default_rng(seed).permutation(len(X))[: sum(sizes)]
    if by_class:  # then the learners hardly share a class
        order = order[np.argsort(y[order], kind="stable")]
    learners = [frozen.fork().learn(X[part], y[part]) for part in np.split(order, np.cumsum(sizes)[:-1])]
    one_seeing_all = frozen.fork().learn(X[order], y[order])
    for sequence in (learners, learners[::-1]):
        merged = frozen.fork()
        for learner in sequence:
            merged.merge(learner)
        assert_equal_learners(merged, one_seeing_all)


def test_a_class_forgotten_whole_is_gone(frozen, digits, assert_equal_learners):
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
    [(13, 3, "13 are to be forgotten"), (1, 77, "never been learned: 77")],
    ids=["more than was learned", "an unknown class"],
)
def test_forgetting_what_was_not_learned_is_refused(new_learner, digits, unchanged, samples, label, message):
    X, y = digits
    threes = X[y == 3]
    learner = new_learner().learn(threes[:12], [3] * 12).learn(X[y == 5], y[y == 5])
    with unchanged(learner), pytest.raises(InputError, match=message):
        learner.forget(threes[:samples], [label] * samples)


def test_merging_grows_classes(new_learner, digits):
    X, y = digits
    low, high = y < 5, y >= 3
    learner = new_learner().learn(X[low], y[low])
    learner.merge(learner.fork().learn(X[high], y[high]))
    assert learner.classes.tolist() == list(range(10))
    assert (learner.predict(X) == y).mean() > 0.9


def test_merging_leaves_the_other_learner_as_it_was(new_learner, digits, unchanged):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100])
    other = learner.fork().learn(X[100:200], y[100:200])
    with unchanged(other):
        learner.merge(other).learn(X[200:300], y[200:300])
    assert int(learner.decision.counts.sum()) == 300


def test_merging_with_itself_counts_everything_twice(new_learner, digits):
    X, y = digits
    learner = new_learner(dtype="float64", ridge=0.1).learn(X[:100], y[:100])
    twice = copy.deepcopy(learner).learn(X[:100], y[:100])
    np.testing.assert_allclose(learner.merge(learner).scores(X), twice.scores(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("different", "started"),
    [
        ({"seed": 1}, True),  # a new learner would take over the other's encoder, whatever its own seed
        *itertools.product(
            [{"width": 50}, {"encoder": "linear"}, {"holdout": 0.3}, {"dtype": "float64"}], [True, False]
        ),
    ],
    ids=str,
)
def test_merging_learners_that_do_not_go_together_is_refused(new_learner, digits, unchanged, different, started):
    X, y = digits
    other = new_learner().learn(X[:50], y[:50])
    learner = new_learner(**different)
    if started:
        learner.learn(X[:50], y[:50])
    with unchanged(learner), unchanged(other), pytest.raises(InputError, match=r"different encoders|differ in"):
        learner.merge(other)


def test_merging_labels_that_cannot_be_compared_is_refused(new_learner, digits, unchanged):
    X, y = digits
    learner = new_learner().learn(X[:50], y[:50])
    other = learner.fork().learn(X[:50], y[:50].astype(str))
    with unchanged(learner), unchanged(other), pytest.raises(InputError, match="cannot be compared"):
        learner.merge(other)


def test_a_new_learner_takes_over_what_is_merged_into_it(new_learner, digits):
    X, y = digits
    other = new_learner().learn(X[:100], y[:100])
    learner = new_learner().merge(other)
    np.testing.assert_array_equal(learner.scores(X), other.scores(X))
    assert new_learner().merge(new_learner()).encoder is None


@pytest.mark.parametrize("settings", [{"rule": "gradient"}, {"rule": "ewc"}, {"representation": "per-task"}], ids=str)
def test_what_is_not_exact_refuses_to_forget_and_to_merge(new_learner, digits, unchanged, settings):
    X, y = digits
    learner = new_learner(**settings, epochs=1).learn(X[:50], y[:50])
    with unchanged(learner), pytest.raises(ConfigurationError, match=r"^Only the analytic rule .* forget exactly"):
        learner.forget(X[:5], y[:5])
    with unchanged(learner), pytest.raises(ConfigurationError, match=r"^Only the analytic rule .* merge exactly"):
        learner.merge(learner.fork())
    unfitted = new_learner(**settings)
    with unchanged(unfitted), pytest.raises(ConfigurationError, match="Only the analytic rule"):
        unfitted.merge(new_learner().learn(X[:50], y[:50]))


def test_a_learner_without_data_has_nothing_to_share(new_learner, digits):
    X, y = digits
    with pytest.raises(InputError, match="cannot be forked"):
        new_learner().fork()
    with pytest.raises(InputError, match="nothing to forget"):
        new_learner().forget(X[:5], y[:5])


# ---------------------------------------------------------------------- agnostic predictions


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    "settings",
    [{}, {"width": None}, {"dtype": "float64"}, {"encoder": "linear"}, SMALL_PAPER, {"rule": "gradient"}],
    ids=str,
)
def test_a_prediction_depends_on_the_sample_and_the_model_alone(new_learner, digits, settings):
    X, y = digits
    learner = new_learner(**settings).learn(X[:300], y[:300])
    samples = X[500:530]
    scores, predicted = learner.scores(samples), learner.predict(samples)
    order = np.random.default_rng(0).permutation(len(samples))
    back = np.argsort(order)
    ways = {
        "one by one": [samples[i : i + 1] for i in range(len(samples))],
        "in two batches": [samples[:17], samples[17:]],
    }
    for name, batches in ways.items():
        found = torch.cat([learner.scores(batch) for batch in batches])
        np.testing.assert_array_equal(found, scores, err_msg=name)
        np.testing.assert_array_equal(np.concatenate([learner.predict(batch) for batch in batches]), predicted)
    np.testing.assert_array_equal(learner.scores(samples[order])[back], scores)
    np.testing.assert_array_equal(learner.predict(samples[order])[back], predicted)
    others = np.concatenate([X[:45], samples, X[600:]])
    np.testing.assert_array_equal(learner.scores(others)[45:75], scores)
    np.testing.assert_array_equal(learner.predict(others)[45:75], predicted)


@pytest.mark.parametrize("rule", ["analytic", "gradient", "ewc"])
def test_the_seed_decides_the_scores(new_learner, digits, rule):
    X, y = digits
    first, again, other = (
        new_learner(seed=seed, rule=rule, epochs=1).learn(X[:100], y[:100]).scores(X) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not torch.allclose(first, other, atol=1e-4)


# ---------------------------------------------------------------------- one representation a task


@pytest.fixture(scope="module")
def per_task(new_learner, digits):
    """A learner of digits 0 to 4, then 5 to 9, each with its own tweak."""
    X, y = digits
    learner = new_learner(**SMALL_PAPER, representation="per-task")
    for task in (y < 5, y >= 5):
        learner.learn(X[task][:100], y[task][:100])
    return learner


@pytest.mark.parametrize(("task", "message"), [(None, "depends on the task"), (2, "no task 2"), (-1, "no task -1")])
def test_a_representation_per_task_needs_the_task(per_task, digits, task, message):
    with pytest.raises(InputError, match=message) as caught:
        per_task.predict(digits[0], task=task)
    assert str(caught.value).endswith(".")


def test_the_task_picks_the_representation(per_task, digits):
    X, y = digits
    low, high = y < 5, y >= 5
    told = [(per_task.predict(X[low], task=task) == y[low]).mean() for task in (0, 1)]
    assert told[0] > told[1]
    assert (per_task.predict(X[high], task=1) == y[high]).mean() > 0.7
    assert not torch.equal(per_task.represent(X[:5], task=0), per_task.represent(X[:5], task=1))


def test_transductive_scores_depend_on_the_rest_of_the_batch(per_task, digits):
    X, y = digits
    zeros, others = X[y < 5][:50], X[y >= 5][:50]
    alone = per_task.scores(zeros, transductive=True)
    mixed = per_task.scores(np.concatenate([zeros, others]), transductive=True)[:50]
    assert float((alone - mixed).abs().max()) > 0.01
    np.testing.assert_array_equal(per_task.scores(zeros, transductive=True), alone)


def test_a_fork_of_a_learner_with_a_representation_per_task_counts_its_own_tasks(per_task, digits):
    X, y = digits
    fork = per_task.fork().learn(X[:60], y[:60])
    with pytest.raises(InputError, match="no task 1"):
        fork.predict(X[:5], task=1)
    assert (fork.predict(X[:60], task=0) == y[:60]).mean() > 0.5


# ---------------------------------------------------------------------- gradient rules


@pytest.mark.parametrize("rule", ["gradient", "ewc"])
@pytest.mark.parametrize("projector", ["exact", "recursive"])
def test_an_interrupted_task_is_not_learned_by_halves(new_learner, digits, unchanged, rule, projector):
    X, y = digits
    learner = new_learner(rule=rule, projector=projector, epochs=3).learn(X[:100], y[:100] % 5)

    def interrupt(progress):
        if progress["epoch"] == 1:
            raise KeyboardInterrupt

    with unchanged(learner), pytest.raises(KeyboardInterrupt):
        learner.learn(X[100:200], y[100:200], interrupt)


def test_gradient_rules_report_every_epoch(new_learner, digits):
    X, y = digits
    seen = []
    learner = new_learner(rule="gradient", epochs=3).learn(X[:100], y[:100], seen.append)
    learner.learn(X[100:200], y[100:200], seen.append)
    assert [(report["task"], report["epoch"]) for report in seen] == [(t, e) for t in (0, 1) for e in (0, 1, 2)]
    assert all(report["loss"] >= 0 and 0 < report["free"] <= 1 for report in seen)


# ---------------------------------------------------------------------- the rest


def test_the_free_share_shrinks_as_more_is_learned(new_learner, digits):
    X, y = digits
    learner = new_learner(ridge=1e-2).learn(X[:20], y[:20])
    before = learner.free_share()
    assert 0 < learner.learn(X, y).free_share() < before < 1


def test_a_deep_copy_goes_its_own_way(new_learner, digits, unchanged):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100])
    with unchanged(learner):
        other = copy.deepcopy(learner).learn(X[100:200], y[100:200].astype(int) + 10).forget(X[:50], y[:50])
    assert other.classes.max() > learner.classes.max()
