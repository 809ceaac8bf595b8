"""Small data and small models, and a guard that a model stays as it was."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from if2net import IF2Net, IF2NetClassifier, snapshot

# The matrices here are small: a second thread only waits, and on a busy machine it waits long.
torch.set_num_threads(1)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache that nobody else uses."""
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def digits():
    """All of scikit-learn's digits: 1,797 samples, 64 features, 10 classes in turn."""
    return load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def new_learner():
    """Makes a small IF2Net on the CPU."""
    return lambda **settings: IF2Net(**{"width": 60, "device": "cpu", **settings})


@pytest.fixture(scope="session")
def new_classifier():
    """Makes a small IF2NetClassifier on the CPU."""
    return lambda **settings: IF2NetClassifier(**{"width": 60, "device": "cpu", "random_state": 0, **settings})


@pytest.fixture(scope="session")
def unchanged():
    """A guard: whatever happens inside it, the model knows and predicts the same afterwards."""

    @contextmanager
    def guard(model):
        attributes = sorted(vars(model))
        before = _knowledge(model)
        yield
        assert sorted(vars(model)) == attributes
        after = _knowledge(model)
        assert after.keys() == before.keys()
        for name in before:
            np.testing.assert_array_equal(after[name], before[name], err_msg=name)

    return guard


def _knowledge(model):
    """All that a model keeps, and its scores, as arrays that later changes cannot reach."""
    learner = model if isinstance(model, IF2Net) else getattr(model, "learner_", None)
    if learner is None:
        return {}
    known = {"classes": learner.classes, "tasks": np.array(learner.tasks), "started": learner.encoder is not None}
    if learner.encoder is not None:
        known |= {name: tensor.numpy().copy() for name, tensor in snapshot.take(learner).items()}
        known |= {"width": np.array(learner.decision.classes)}
    if len(learner.labels):
        samples = torch.linspace(0, 16, 3 * learner.encoder.inputs).reshape(3, -1)
        task = None if learner.config.representation == "first" else 0
        known["scores"] = learner.scores(samples, task=task).numpy().copy()
    return known
