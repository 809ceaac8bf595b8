import numpy as np
import pytest
import torch

from if2net.errors import NumericalError
from if2net.study.methods import METHODS

X = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
y = np.arange(64) % 2


@pytest.mark.parametrize("name", ["none", "eft", "gem", "logd"])
def test_a_diverged_training_raises_an_error_that_says_what_to_do(name):
    kind = METHODS[name]
    method = kind(5, 0, torch.device("cpu"), kind.Settings(rate=1e6, epochs=2, steps=50))
    with pytest.raises(NumericalError, match=rf"{name} has diverged.* Set a smaller rate"):
        method.learn(1e3 * X, y)
