import numpy as np
import pytest
import torch

from if2net.study.methods.mas import MAS


@pytest.mark.parametrize(("scope", "first"), [("seen", 0), ("current", 2)])
def test_importance_is_measured_per_sample_and_summed_over_tasks(scope, first):
    settings = MAS.Settings(hidden=6, depth=1, epochs=1, steps=30, scope=scope)
    method = MAS(4, 0, torch.device("cpu"), settings)
    expected = 0.0
    for number, start in enumerate([0, first]):
        X = np.random.default_rng(number).normal(size=(40, 4)).astype(np.float32)
        method.learn(X, 2 * number + np.arange(40) % 2)
        weight = method.network.hidden[0].weight
        for sample in torch.from_numpy(X):
            norm = method.network(sample)[start:].square().sum()
            expected = expected + torch.autograd.grad(norm, weight)[0].abs() / len(X)
    torch.testing.assert_close(method.state["importance.hidden.0.weight"], expected)
