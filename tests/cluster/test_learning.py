"""Learning on a local Ray: the result equals that of the plain learner, also when workers are killed."""

import os
import signal
import time

import numpy as np
import pytest

from if2net import cluster
from if2net.cluster.pool import PackedLearner
from if2net.errors import ConfigurationError, IF2NetError, InputError
from if2net.tables import Stream, tables_to_learn

ray = pytest.importorskip("ray")

FIRST = 300
SAMPLES = 1797


@pytest.fixture(scope="module")
def samples(digits):
    X, y = digits
    return X.astype(np.float32), np.array([f"digit {label}" for label in y])


@pytest.fixture(scope="module")
def dataset(samples):
    """The digits in 8 blocks, which are computed again whenever they are read."""
    X, y = samples

    def rows(batch):
        return {"pixels": X[batch["id"]], "class": y[batch["id"]]}

    return ray.data.range(len(X), override_num_blocks=8).map_batches(rows, batch_size=None)


@pytest.fixture(scope="module")
def plain(samples, new_learner):
    """A learner on one machine that has started from the same rows."""
    X, y = samples
    return new_learner(dtype="float64").learn([(X[:FIRST], y[:FIRST]), (X[FIRST:], y[FIRST:])])


def assert_same(net, expected, X):
    assert net.classes.tolist() == expected.classes.tolist()
    assert net.tasks == expected.tasks
    assert sorted(net.decision.total.counts.tolist()) == sorted(expected.decision.total.counts.tolist())
    np.testing.assert_allclose(net.scores(X), expected.scores(X), atol=1e-6)
    np.testing.assert_allclose(net.probabilities(X), expected.probabilities(X), atol=1e-6)


class Killer:
    """Kills workers as soon as given numbers of samples have been counted: {samples: workers to kill}."""

    def __init__(self, processes, plan):
        self.processes, self.plan = processes, dict(plan)
        self.counted, self.killed = 0, 0

    def __call__(self, samples):
        self.counted += samples
        for after in [after for after in self.plan if self.counted >= after]:
            wanted, workers = self.plan.pop(after), self.workers()
            until = time.monotonic() + 30
            while (
                len(workers) < wanted and time.monotonic() < until
            ):  # the successor of a killed worker takes a while
                time.sleep(0.1)
                workers = self.workers()
            for number in workers[:wanted]:
                os.kill(number, signal.SIGKILL)
                self.killed += 1

    def workers(self):
        return [number for number, title in self.processes().items() if title.startswith("ray::Worker")]


def test_three_workers_learn_the_same_as_one_learner(dataset, plain, samples, new_learner):
    net = cluster.learn(new_learner(dtype="float64"), dataset, workers=3, first=FIRST)
    assert_same(net, plain, samples[0])
    assert net.feature_names is None  # the features are vectors


@pytest.mark.slow  # the next test kills one worker
def test_workers_killed_while_counting_and_while_merging_change_nothing(dataset, plain, samples, own_processes):
    killer = Killer(own_processes, {600: 1, SAMPLES: 2})
    net = cluster.learn(plain.fork(), dataset, workers=2, report=killer)
    assert killer.killed == 3
    assert killer.counted == 2 * SAMPLES  # all was lost at the end, and all was counted once more
    assert_same(net, plain, samples[0])


def test_a_killed_worker_changes_nothing_if_the_blocks_differ_at_each_reading(samples, plain, own_processes):
    X, y = samples

    def rows(batch):
        order = np.random.default_rng().permutation(len(batch["id"]))
        chosen = batch["id"][order]
        return {"pixels": X[chosen], "class": y[chosen]}

    changing = ray.data.range(len(X), override_num_blocks=4).map_batches(rows, batch_size=None)
    killer = Killer(own_processes, {800: 1})
    net = cluster.learn(plain.fork(), changing, workers=1, report=killer)
    assert killer.killed == 1
    assert_same(net, plain, X)


def test_too_many_failures_raise_an_error(dataset, plain, unchanged, own_processes):
    net = plain.fork()
    with unchanged(net), pytest.raises(IF2NetError, match="Too many workers have failed"):
        cluster.learn(net, dataset, workers=1, report=Killer(own_processes, {1: 1}), failures=0)


def test_statistics_in_float32_agree_and_a_learner_keeps_its_encoder(samples, new_learner):
    X, y = samples
    expected = new_learner().learn(X[:500], y[:500])
    net = PackedLearner.of(expected).unpack("cpu")
    vectors = ray.data.from_numpy(X)  # one block with the vectors in a column `data`
    cluster.learn(net, vectors.map_batches(lambda batch: {**batch, "label": y}, batch_size=None), workers=1)
    expected.learn(X, y)
    assert net.tasks == 2
    columns = [net.labels.known.index(label) for label in expected.labels.known]
    for name, ours, theirs in [
        ("G", np.tril(net.decision.total.G), np.tril(expected.decision.total.G)),
        ("Q", net.decision.total.Q.numpy()[:, columns], expected.decision.total.Q.numpy()),
    ]:
        assert np.linalg.norm(ours - theirs) <= 1e-6 * np.linalg.norm(theirs), name
    # Two float32 sums of the same numbers in another order differ in their last bits, 6e-8 of G, and the solution by
    # as much times the condition number of G + αI, 6e4 here: 4e-3 at worst. In a dozen orders it was 2e-5 to 4e-5.
    np.testing.assert_allclose(net.scores(X), expected.scores(X), atol=2e-4)
    np.testing.assert_allclose(net.probabilities(X), expected.probabilities(X), atol=2e-4)


def test_tables_are_learned_as_on_one_machine(samples, new_learner, tmp_path):
    X, y = samples
    for number, part in enumerate([slice(0, 700), slice(700, None)]):
        np.savez(tmp_path / f"{number}.npz", X=X[part], y=y[part])
    tables = tables_to_learn([tmp_path / "0.npz", tmp_path / "1.npz"], None, None, [])
    expected = new_learner(dtype="float64").learn(Stream(tables, lambda samples: None))
    net = cluster.learn_tables(new_learner(dtype="float64"), tables, workers=1)
    assert_same(net, expected, X)


def test_columns_of_single_numbers_keep_their_names(new_learner):
    rows = [{"height": float(i % 7), "kind": "a" if i % 7 < 3 else "b", "width": float(i % 5)} for i in range(100)]
    net = cluster.learn(new_learner(), ray.data.from_items(rows, override_num_blocks=1), "kind", workers=1)
    assert net.feature_names == ["height", "width"]
    assert net.classes.tolist() == ["a", "b"]


def test_an_error_in_a_worker_is_raised_as_it_is_and_changes_nothing(samples, plain, unchanged):
    X, y = samples
    factor = np.where(np.arange(len(X)) == 1500, np.nan, 1.0)[:, None]
    broken = ray.data.range(len(X), override_num_blocks=2).map_batches(
        lambda batch: {"X": X[batch["id"]] * factor[batch["id"]], "y": y[batch["id"]]}, batch_size=None
    )
    with unchanged(plain), pytest.raises(InputError, match=r"\AX contains NaN.*\Z"):
        cluster.learn(plain, broken, workers=1)


def test_an_error_in_a_table_is_raised_as_on_one_machine(new_learner, tmp_path):
    path = tmp_path / "birds.csv"
    path.write_text("height,label\n" + "1,5\n2,6\n" * 3000 + "1,owl\n")
    tables = tables_to_learn([path], None, None, [])
    with pytest.raises(InputError) as alone:
        new_learner().learn(Stream(tables, lambda samples: None))
    with pytest.raises(InputError) as on_cluster:
        cluster.learn_tables(new_learner(), tables, workers=1)
    assert str(on_cluster.value) == str(alone.value)


@pytest.mark.parametrize(
    ("label", "sentence"), [("clas", "did you mean 'class'"), (None, "could each be the label")], ids=str
)
def test_an_unknown_or_ambiguous_label_is_named(label, sentence, new_learner):
    rows = ray.data.from_items([{"class": 1, "target": 2, "x": 0.5}])
    with pytest.raises(IF2NetError, match=sentence):
        cluster.learn(new_learner(), rows, label)


def test_rules_that_cannot_merge_are_refused_before_any_block_is_counted(dataset, new_learner):
    with pytest.raises(ConfigurationError, match="analytic"):
        cluster.learn(new_learner(rule="gradient"), dataset, first=FIRST, report=pytest.fail)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"data": np.ones(3)}], "no column besides 'data'; add a column of labels"),
        ([{"kind": "owl", "data": np.ones(3)}], "'data' holds vectors, which cannot be labels"),
        ([{"x": 1.0, "label": "owl"}, {"x": 2.0, "label": None}], "every sample needs a label"),
        ([{"x": 1.0, "label": 1}, {"x": 2.0, "label": None}], "every sample needs a label"),
        ([{"x": 1.0, "label": None}], "every sample needs a label"),
        ([], "The dataset is empty"),
    ],
    ids=["no labels", "vectors as labels", "missing text", "missing number", "only missing", "no rows"],
)
def test_missing_labels_and_missing_rows_are_named(rows, sentence, new_learner):
    with pytest.raises(InputError, match=sentence):
        cluster.learn(new_learner(), ray.data.from_items(rows))


def test_a_session_of_the_user_keeps_its_settings(monkeypatch):
    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    monkeypatch.setattr(ray, "init", pytest.fail)
    cluster.connect()
    assert "RAY_USAGE_STATS_ENABLED" not in os.environ
