"""slda and ncm against those of Avalanche, on the same features in the same order."""

import numpy as np
import pytest
import torch

from if2net.study.data import load_dataset
from if2net.study.methods.common.moments import class_means, within_covariance
from if2net.study.methods.ncm import NearestClassMean
from if2net.study.methods.slda import StreamingLDA

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore:No loggers specified")]

DIGITS = load_dataset("digits")
TASKS = [np.flatnonzero(np.isin(DIGITS.train_y, (first, first + 1))) for first in range(0, 10, 2)]
SHRINKAGE = 1e-2


def learned(kind, **settings):
    """Return our method after five tasks, its training features by task, and its test features."""
    method = kind(64, 0, torch.device("cpu"), kind.Settings(**settings))
    for task in TASKS:
        method.learn(DIGITS.train_X[task], DIGITS.train_y[task])
    features = [method.features(torch.from_numpy(DIGITS.train_X[task]).float()) for task in TASKS]
    return method, features, method.features(torch.from_numpy(DIGITS.test_X).float())


def labels(task):
    return torch.from_numpy(DIGITS.train_y[task])


@pytest.fixture(scope="module")
def both():
    """Our slda and that of Avalanche after the same stream, and the features of the test images."""
    benchmarks = pytest.importorskip("avalanche.benchmarks")
    supervised = pytest.importorskip("avalanche.training.supervised")
    ours, features, test = learned(StreamingLDA, shrinkage=SHRINKAGE)
    theirs = supervised.StreamingLDA(
        slda_model=torch.nn.Identity(),
        criterion=torch.nn.CrossEntropyLoss(),
        input_size=64,
        num_classes=10,
        shrinkage_param=SHRINKAGE,
        train_mb_size=64,
        evaluator=None,
    )
    stream = benchmarks.tensors_benchmark(
        train_tensors=[(V, labels(task)) for V, task in zip(features, TASKS, strict=True)],
        test_tensors=[(test, torch.from_numpy(DIGITS.test_y))],
        task_labels=[0] * len(TASKS),
    ).train_stream
    for experience in stream:
        theirs.train(experience, shuffle=False)
    return ours, theirs, test


def test_slda_has_the_means_of_avalanche_and_predicts_the_same(both):
    ours, theirs, test = both
    np.testing.assert_allclose(class_means(ours.statistics[0]), theirs.muK, atol=1e-5)
    agreeing = theirs.predict(test).argmax(dim=1).numpy() == ours.predict(DIGITS.test_X)
    # Not all, because Avalanche counts the first sample of a class with its distance from zero. Ours is exact.
    assert agreeing.mean() > 0.99


def test_slda_has_the_scores_of_avalanche_for_the_same_covariance(both, monkeypatch):
    ours, theirs, test = both
    monkeypatch.setattr(theirs, "Sigma", within_covariance(ours.statistics[0]).float())
    monkeypatch.setattr(theirs, "prev_num_updates", -1)  # makes it solve again with this covariance
    np.testing.assert_allclose(theirs.predict(test), ours.scores(test), rtol=1e-4, atol=1e-3)


def test_ncm_predicts_the_same_as_avalanche():
    models = pytest.importorskip("avalanche.models")
    ours, features, test = learned(NearestClassMean)
    theirs = models.NCMClassifier(normalize=False)
    for V, task in zip(features, TASKS, strict=True):
        y = labels(task)
        theirs.update_class_means_dict({int(label): V[y == label].mean(dim=0) for label in y.unique()})
    np.testing.assert_array_equal(ours.predict(DIGITS.test_X), theirs(test).argmax(dim=1))
