"""Small data, small models, and a guard that a model stays unchanged."""

import os
import signal
from contextlib import contextmanager

# Threads of torch that wait must not spin: they would take the cores from other tests. It is read when torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import pytest
import torch
from coloured_images import write_images
from sklearn.datasets import load_digits

from if2net import IF2Net, IF2NetClassifier
from if2net.images.backbones.base import Preprocessing
from if2net.images.backbones.network import Network
from if2net.images.extractor import Extractor
from if2net.images.read import Framing

# The matrices of the tests are small: a second thread only waits, and on a busy machine it waits long.
torch.set_num_threads(1)
# A background job such as `make test &` starts with SIGINT ignored, but the tests of Ctrl-C need Python's handler.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Tests that share something expensive: a Ray, a browser, the site, a checked copy of the results, a learned model.
TOGETHER = (
    "tests/cluster/",
    "tests/server/browser/",
    "tests/docs/test_site.py",
    "tests/results/",
    "tests/learner/test_pictures.py",
)


def group_of(test):
    """Return the name of the group of tests that run in one process; the id of the test if it has none."""
    if test.startswith("tests/study/methods/test_methods.py"):
        return test.partition("[")[2]  # the method, which is trained once
    return next((place for place in TOGETHER if test.startswith(place)), test)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run each group in one process, the large ones first.

    The marker `xdist_group` has no effect with pytest 9.2 and pytest-xdist 3.8 (pytest-xdist issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        _split_scope = staticmethod(group_of)

    return Groups(config, log)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Use a cache of its own for this test."""
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def pictures(tmp_path):
    """A folder of three classes with four images each; the classes differ in colour."""
    return write_images(tmp_path / "pictures", ("blue", "green", "red"), 4)


@pytest.fixture
def small_module():
    """Build a network of two convolutions with a batch norm between them."""

    def make(seed=0):
        torch.manual_seed(seed)
        first, last = torch.nn.Conv2d(3, 4, 3, 2, bias=False), torch.nn.Conv2d(4, 6, 3, 2)
        module = torch.nn.Sequential(first, torch.nn.BatchNorm2d(4), torch.nn.ReLU(), last)
        module[1].running_mean.uniform_(-1, 1)
        module[1].running_var.uniform_(1, 2)
        return module.eval()

    return make


@pytest.fixture
def preprocessing():
    return Preprocessing(Framing(32, 28), (127.0,) * 3, (128.0,) * 3)


@pytest.fixture
def network(small_module, preprocessing):
    return Network("small", small_module(), preprocessing, taps=("2", "3"))


@pytest.fixture
def extractor(network):
    return Extractor(network)


@pytest.fixture(scope="session")
def digits():
    """All of scikit-learn's digits: 1,797 samples, 64 features, 10 classes in turn."""
    return load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def new_learner():
    """Build a small IF2Net on the CPU."""
    return lambda **settings: IF2Net(**{"width": 60, "device": "cpu", **settings})


@pytest.fixture(scope="session")
def new_classifier():
    """Return a function that makes a small IF2NetClassifier on the CPU from any settings."""

    def make(**settings):
        names = IF2NetClassifier().get_params()
        further = {name: settings.pop(name) for name in list(settings) if name not in names}
        return IF2NetClassifier(
            **{"width": 60, "device": "cpu", "random_state": 0, "config": further or None, **settings}
        )

    return make


@pytest.fixture(scope="session")
def unchanged():
    """A guard: the model keeps and predicts the same before and after the block."""

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
    """Copy everything that a model keeps, and its scores."""
    learner = model if isinstance(model, IF2Net) else getattr(model, "learner_", None)
    if learner is None:
        return {}
    known = {"classes": learner.classes, "tasks": np.array(learner.tasks), "started": learner.encoder is not None}
    if learner.encoder is not None:
        known |= {name: tensor.numpy().copy() for name, tensor in learner.tensors().items()}
        known |= {"width": np.array(learner.decision.classes)}
    if len(learner.labels):
        samples = torch.linspace(0, 16, 3 * learner.encoder.inputs).reshape(3, -1)
        task = None if learner.config.representation == "first" else 0
        known["scores"] = learner.scores(samples, task=task).numpy().copy()
    return known
