import numpy as np
import pytest
import torch

from if2net.errors import ConfigurationError
from if2net.study.methods.online_ewc import OnlineEWC


def test_the_old_fisher_diagonal_decays_and_the_anchor_is_the_latest():
    settings = OnlineEWC.Settings(hidden=6, depth=1, epochs=1, steps=30, decay=0.5)
    method = OnlineEWC(4, 0, torch.device("cpu"), settings)
    expected = 0.0
    for number in range(3):
        X = np.random.default_rng(number).normal(size=(40, 4)).astype(np.float32)
        method.learn(X, 2 * number + np.arange(40) % 2)
        expected = 0.5 * expected + method.measure_importance(torch.from_numpy(X))[0]
    torch.testing.assert_close(method.state["importance.hidden.0.weight"], expected)
    assert torch.equal(method.state["anchor.hidden.0.weight"], method.network.hidden[0].weight)


@pytest.mark.parametrize("decay", [-0.1, 1.1])
def test_a_decay_outside_zero_to_one_is_refused(decay):
    with pytest.raises(ConfigurationError, match="decay"):
        OnlineEWC.Settings(decay=decay)
