import numpy as np
import pytest
import torch

from if2net.errors import NumericalError
from if2net.study.methods import METHODS
from if2net.study.methods.none import NoDefence

X = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
y = np.arange(64) % 2


@pytest.mark.parametrize("name", ["none", "eft", "gem", "logd"])
def test_a_training_that_diverges_says_so_and_what_to_do(name):
    kind = METHODS[name]
    method = kind(5, 0, torch.device("cpu"), kind.Settings(rate=1e6, epochs=2, steps=50))
    with pytest.raises(NumericalError, match=rf"{name} has diverged.* Set a smaller rate"):
        method.learn(1e3 * X, y)


@pytest.mark.parametrize(("batch_size", "inside"), [(64, 1), (2**26, 2)])
def test_small_steps_use_one_thread_and_the_setting_is_restored(batch_size, inside):
    threads = []

    class Watched(NoDefence):
        def before_step(self, X, y):
            threads.append(torch.get_num_threads())

    method = Watched(5, 0, torch.device("cpu"), Watched.Settings(hidden=8, epochs=1, steps=1, batch_size=batch_size))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        method.learn(X, y)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(threads) == {inside}
