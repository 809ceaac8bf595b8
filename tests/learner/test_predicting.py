"""Predictions depend on the sample and the model alone, block by block and while other threads learn."""

import threading

import numpy as np
import pytest
import torch

from if2net import IF2Net
from if2net.encoder.rowwise import ROWS, rowwise
from if2net.errors import InputError

SMALL_PAPER = {"encoder": "paper", "layers": "5x5,10x5", "width": None}


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
    splits = {
        "one by one": [samples[i : i + 1] for i in range(len(samples))],
        "in two batches": [samples[:17], samples[17:]],
    }
    for name, batches in splits.items():
        of_batches = torch.cat([learner.scores(batch) for batch in batches])
        np.testing.assert_array_equal(of_batches, scores, err_msg=name)
        np.testing.assert_array_equal(np.concatenate([learner.predict(batch) for batch in batches]), predicted)
    order = np.random.default_rng(0).permutation(len(samples))
    back = np.argsort(order)
    np.testing.assert_array_equal(learner.scores(samples[order])[back], scores)
    np.testing.assert_array_equal(learner.predict(samples[order])[back], predicted)
    among_others = np.concatenate([X[:45], samples, X[600:]])
    np.testing.assert_array_equal(learner.scores(among_others)[45:75], scores)
    np.testing.assert_array_equal(learner.predict(among_others)[45:75], predicted)


def test_predicting_never_holds_the_scores_of_all_samples(monkeypatch):
    count = 3 * ROWS["cpu"] + 7
    X, y = np.random.default_rng(0).normal(size=(count, 5)), np.arange(count) % 4
    learner = IF2Net(width=50, device="cpu", seed=0).learn(X, y)
    best = learner.scores(X).argmax(dim=1).numpy()
    shapes = []

    def recorded(function, X):
        def of_block(block):
            result = function(block)
            shapes.append((len(block), tuple(result.shape)))
            return result

        return rowwise(of_block, X)

    monkeypatch.setattr("if2net.learner.rowwise", recorded)
    np.testing.assert_array_equal(learner.predict(X), learner.classes[best])
    assert shapes == [(ROWS["cpu"], (ROWS["cpu"],))] * 4


def test_other_threads_see_the_model_before_or_after_a_change_never_in_between():
    random = np.random.default_rng(0)
    centres = 10 * np.eye(12)

    def samples(label):
        return centres[label] + random.normal(size=(40, 12)), np.full(40, label)

    learner = IF2Net(width=50, device="cpu", seed=0).learn(*samples(0)).learn(*samples(1))
    failures, finished = [], threading.Event()

    def read():
        while not finished.is_set():
            try:
                known = len(learner.classes)
                probabilities = learner.probabilities(centres)
                assert probabilities.shape[1] >= known
                assert learner.predict(centres[:2]).tolist() == [0, 1]
            except Exception as error:
                failures.append(repr(error))
                return

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for label in range(2, 12):
        learner.learn(*samples(label))
    finished.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert learner.predict(centres).tolist() == list(range(12))


# ---------------------------------------------------------------------- one representation per task


@pytest.fixture(scope="module")
def per_task(new_learner, digits):
    """A learner of the digits 0 to 4, then 5 to 9, with one tweak for each."""
    X, y = digits
    learner = new_learner(**SMALL_PAPER, representation="per-task")
    for task in (y < 5, y >= 5):
        learner.learn(X[task][:100], y[task][:100])
    return learner


@pytest.mark.parametrize(("task", "message"), [(None, "depends on the task"), (2, "no task 2"), (-1, "no task -1")])
def test_with_one_representation_per_task_a_prediction_needs_a_known_task(per_task, digits, task, message):
    with pytest.raises(InputError, match=message):
        per_task.predict(digits[0], task=task)


def test_the_task_selects_the_representation(per_task, digits):
    X, y = digits
    low, high = y < 5, y >= 5
    accuracies = [(per_task.predict(X[low], task=task) == y[low]).mean() for task in (0, 1)]
    assert accuracies[0] > accuracies[1]
    assert (per_task.predict(X[high], task=1) == y[high]).mean() > 0.7
    assert not torch.equal(per_task.represent(X[:5], task=0), per_task.represent(X[:5], task=1))


def test_transductive_scores_depend_on_the_rest_of_the_batch(per_task, digits):
    X, y = digits
    low, high = X[y < 5][:50], X[y >= 5][:50]
    alone = per_task.scores(low, transductive=True)
    mixed = per_task.scores(np.concatenate([low, high]), transductive=True)[:50]
    assert float((alone - mixed).abs().max()) > 0.01
    np.testing.assert_array_equal(per_task.scores(low, transductive=True), alone)


def test_a_fork_with_one_representation_per_task_counts_its_own_tasks(per_task, digits):
    X, y = digits
    fork = per_task.fork().learn(X[:60], y[:60])
    with pytest.raises(InputError, match="no task 1"):
        fork.predict(X[:5], task=1)
    assert (fork.predict(X[:60], task=0) == y[:60]).mean() > 0.5


@pytest.mark.parametrize("width", [127, 501, 2047])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_has_the_same_bits_alone_and_in_a_layer_of_odd_width(new_learner, width, dtype):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 20)), random.integers(0, 5, 200)
    learner = new_learner(width=width, dtype=dtype, ridge=0.01).learn(X, y)
    alone = torch.cat([learner.scores(X[place : place + 1]) for place in range(40)])
    assert torch.equal(learner.scores(X)[:40], alone)
