"""Learning on a local Ray with two workers: equal to the plain learner, also when workers are killed."""

import os
import signal

import numpy as np
import pytest

from if2net import cluster
from if2net.cluster.worker import pack, unpack
from if2net.errors import ConfigurationError, IF2NetError, InputError
from if2net.tables import Stream, tables_to_learn

ray = pytest.importorskip("ray")

FIRST = 300


@pytest.fixture(scope="module")
def samples(digits):
    X, y = digits
    return X.astype(np.float32), np.array([f"digit {label}" for label in y])


@pytest.fixture(scope="module")
def dataset(samples):
    """The digits in 12 blocks, made again whenever they are read."""
    X, y = samples

    def rows(batch):
        return {"pixels": X[batch["id"]], "class": y[batch["id"]]}

    return ray.data.range(len(X), override_num_blocks=12).map_batches(rows, batch_size=None)


@pytest.fixture(scope="module")
def plain(samples, new_learner):
    """The learner on one machine, which saw the same rows first."""
    X, y = samples
    return new_learner(dtype="float64").learn([(X[:FIRST], y[:FIRST]), (X[FIRST:], y[FIRST:])])


def assert_same(found, expected, X):
    assert found.classes.tolist() == expected.classes.tolist()
    assert found.tasks == expected.tasks
    assert sorted(found.decision.counts.tolist()) == sorted(expected.decision.counts.tolist())
    np.testing.assert_allclose(found.scores(X), expected.scores(X), atol=1e-6)
    np.testing.assert_allclose(found.probabilities(X), expected.probabilities(X), atol=1e-6)


class Killer:
    """Kills the first so many workers as soon as so many samples have been counted."""

    def __init__(self, processes, after, workers=1):
        self.processes, self.after, self.workers = processes, after, workers
        self.counted, self.killed = 0, 0

    def __call__(self, samples):
        self.counted += samples
        if self.counted >= self.after and not self.killed:
            found = [number for number, title in self.processes().items() if title.startswith("ray::Worker")]
            for number in found[: self.workers]:
                os.kill(number, signal.SIGKILL)
                self.killed += 1


def test_two_workers_learn_what_one_learner_does(dataset, plain, samples, new_learner):
    found = cluster.learn(new_learner(dtype="float64"), dataset, workers=2, first=FIRST)
    assert_same(found, plain, samples[0])


def test_a_worker_that_is_killed_while_it_counts_changes_nothing(dataset, plain, samples, own_processes):
    killer = Killer(own_processes, after=800)
    found = cluster.learn(plain.fork(), dataset, workers=2, report=killer)
    assert killer.killed == 1
    assert_same(found, plain, samples[0])


def test_what_workers_had_counted_who_are_killed_at_the_end_is_counted_again(dataset, plain, samples, own_processes):
    killer = Killer(own_processes, after=1797, workers=2)
    found = cluster.learn(plain.fork(), dataset, workers=2, report=killer)
    assert killer.counted == 2 * 1797
    assert_same(found, plain, samples[0])


def test_a_killed_worker_changes_nothing_where_blocks_never_come_twice(samples, plain, own_processes):
    """The blocks differ whenever the data is read, so that all of it must be counted again."""
    X, y = samples

    def rows(batch):
        order = np.random.default_rng().permutation(len(batch["id"]))
        chosen = batch["id"][order]
        return {"pixels": X[chosen], "class": y[chosen]}

    changing = ray.data.range(len(X), override_num_blocks=6).map_batches(rows, batch_size=None)
    started = plain.fork()
    killer = Killer(own_processes, 800)
    found = cluster.learn(started, changing, workers=2, report=killer)
    assert killer.killed == 1
    assert_same(found, plain, X)


def test_it_gives_up_when_too_many_die(dataset, new_learner, unchanged, own_processes):
    net = new_learner()
    with unchanged(net), pytest.raises(IF2NetError, match="Too many workers have died"):
        cluster.learn(net, dataset, workers=2, report=Killer(own_processes, 1), deaths=0)


def test_a_learner_goes_on_with_its_own_encoder_and_in_float32_too_statistics_and_scores_are_equal(
    dataset, samples, new_learner
):
    X, y = samples
    expected = new_learner().learn(X[:500], y[:500])
    found = unpack(pack(expected), "cpu")
    cluster.learn(found, dataset, workers=3)
    expected.learn(X, y)
    assert found.tasks == 2
    columns = [found.labels.known.index(label) for label in expected.labels.known]
    for name, ours, theirs in [
        ("G", np.tril(found.decision.G), np.tril(expected.decision.G)),
        ("Q", found.decision.Q.numpy()[:, columns], expected.decision.Q.numpy()),
    ]:
        assert np.linalg.norm(ours - theirs) <= 1e-6 * np.linalg.norm(theirs), name
    # Two float32 sums of the same numbers in another order differ in their last bits, 6e-8 of G, and the solution by
    # as much times the condition number of G + αI, 6e4 here: 4e-3 at worst. In a dozen orders it was 2e-5 to 4e-5.
    np.testing.assert_allclose(found.scores(X), expected.scores(X), atol=2e-4)
    np.testing.assert_allclose(found.probabilities(X), expected.probabilities(X), atol=2e-4)


def test_tables_are_learned_as_on_one_machine(samples, new_learner, tmp_path):
    X, y = samples
    for number, part in enumerate([slice(0, 700), slice(700, None)]):
        np.savez(tmp_path / f"{number}.npz", X=X[part], y=y[part])
    tables = tables_to_learn([tmp_path / "0.npz", tmp_path / "1.npz"], None, None, [])
    expected = new_learner(dtype="float64").learn(Stream(tables, lambda samples: None))
    found = cluster.learn_tables(new_learner(dtype="float64"), tables, workers=2)
    assert_same(found, expected, X)


def test_columns_of_single_numbers_keep_their_names(new_learner):
    rows = [{"height": float(i % 7), "kind": "a" if i % 7 < 3 else "b", "width": float(i % 5)} for i in range(100)]
    net = cluster.learn(new_learner(), ray.data.from_items(rows), "kind", workers=1)
    assert net.feature_names == ["height", "width"]
    assert net.classes.tolist() == ["a", "b"]


def test_what_is_wrong_with_the_data_is_said_in_a_sentence_and_changes_nothing(samples, new_learner, unchanged):
    X, y = samples
    net = new_learner().learn(X, y)
    late = np.where(np.arange(len(X)) == 1500, np.nan, 1.0)[:, None]
    broken = ray.data.range(len(X), override_num_blocks=4).map_batches(
        lambda batch: {"X": X[batch["id"]] * late[batch["id"]], "y": y[batch["id"]]}, batch_size=None
    )
    with unchanged(net), pytest.raises(InputError, match="NaN"):
        cluster.learn(net, broken, workers=2)


def test_a_table_that_is_wrong_far_down_is_named_as_on_one_machine(new_learner, tmp_path):
    path = tmp_path / "birds.csv"
    path.write_text("height,label\n" + "1,5\n2,6\n" * 3000 + "1,owl\n")
    with pytest.raises(InputError) as raised:
        cluster.learn_tables(new_learner(), tables_to_learn([path], None, None, []), workers=1)
    assert str(raised.value).startswith(f"{path}: The label 'owl' in row 6,001 is not a whole number")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("label", "sentence"), [("clas", "did you mean 'class'"), (None, "could each be the label")], ids=str
)
def test_a_label_that_is_not_there_is_named(label, sentence, new_learner):
    rows = ray.data.from_items([{"class": 1, "target": 2, "x": 0.5}])
    with pytest.raises(IF2NetError, match=sentence):
        cluster.learn(new_learner(), rows, label)


def test_rules_that_cannot_merge_are_refused_before_anything_is_counted(dataset, new_learner):
    with pytest.raises(ConfigurationError, match="analytic"):
        cluster.learn(new_learner(rule="gradient"), dataset, first=FIRST, report=pytest.fail)


def test_vectors_from_numpy_are_features(samples, new_learner):
    X, y = samples[0][:200], samples[1][:200]
    vectors = ray.data.from_numpy(X).map_batches(lambda batch: {**batch, "label": y[: len(batch["data"])]})
    found = cluster.learn(new_learner(dtype="float64"), vectors, workers=1)
    assert_same(found, new_learner(dtype="float64").learn(X, y), X)
    assert found.feature_names is None


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"data": np.ones(3)}], "no column beside 'data'; add one with the labels"),
        ([{"kind": "owl", "data": np.ones(3)}], "'data' holds vectors, which are no labels"),
        ([{"x": 1.0, "label": "owl"}, {"x": 2.0, "label": None}], "every sample needs a label"),
        ([{"x": 1.0, "label": 1}, {"x": 2.0, "label": None}], "every sample needs a label"),
        ([{"x": 1.0, "label": None}], "every sample needs a label"),
    ],
    ids=["no labels", "vectors as labels", "no text", "no number", "nothing"],
)
def test_labels_that_are_missing_are_named(rows, sentence, new_learner):
    with pytest.raises(InputError, match=sentence):
        cluster.learn(new_learner(), ray.data.from_items(rows))


def test_an_empty_dataset_is_refused(new_learner):
    with pytest.raises(InputError, match="empty"):
        cluster.learn(new_learner(), ray.data.from_items([]))
