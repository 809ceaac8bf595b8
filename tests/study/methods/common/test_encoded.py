import numpy as np
import pytest
import torch

from if2net import IF2Net
from if2net.config import Config
from if2net.encoder.innate import weights
from if2net.errors import ConfigurationError
from if2net.labels import Labels
from if2net.study.methods.common.encoded import EncodedLearner
from if2net.study.methods.if2net import IF2NetMethod


@pytest.fixture(scope="module")
def pictures():
    """Forty pictures of two classes, the features of their network, and their labels."""
    random = np.random.default_rng(0)
    labels = np.arange(40) % 2
    X = (random.random((40, 28, 28)) * np.where(labels, 1.0, 0.6)[:, None, None]).astype(np.float32)
    rows = weights.shipped("small", torch.device("cpu")).rows(torch.from_numpy(X)[:, None])
    return X, rows.numpy(), labels


@pytest.fixture(scope="module")
def encoded(pictures):
    _, rows, labels = pictures
    return EncodedLearner(Config(encoder="innate", width=200, device="cpu"), rows.shape[1]).learn(rows, labels)


def test_rows_of_features_give_what_the_pictures_give(pictures, encoded):
    X, rows, labels = pictures
    net = IF2Net(encoder="innate", flips=False, width=200, device="cpu").learn(X, labels)
    assert encoded.encoder.width == net.encoder.width == 4041
    np.testing.assert_allclose(encoded.scores(rows[:9]), net.scores(X[:9]), atol=1e-4)


def test_the_state_is_restored(pictures, encoded):
    _, rows, _ = pictures
    other = EncodedLearner(encoded.config, rows.shape[1])
    other.restore(encoded.tensors(), Labels(range(2)), 1)
    assert torch.equal(other.scores(rows), encoded.scores(rows))


def test_the_method_takes_features_or_pictures(pictures):
    X, rows, labels = pictures
    for samples, shape in ((rows, None), (X.reshape(40, -1), "28x28")):
        settings = Config(encoder="innate", width=0, image_shape=shape)
        method = IF2NetMethod(samples.shape[1], 0, torch.device("cpu"), settings)
        method.learn(samples, labels)
        assert method.class_scores(samples).shape == (40, 2)


def test_rows_that_are_not_of_the_network_are_refused():
    with pytest.raises(ConfigurationError, match=r"the 3,840 features of its network, but the rows have 784 values"):
        EncodedLearner(Config(encoder="innate"), 784)
    with pytest.raises(ConfigurationError, match=r"12,416 features"):
        EncodedLearner(Config(encoder="innate-large"), 3840)
