import numpy as np
import pytest
import torch

from if2net.errors import ConfigurationError
from if2net.study.methods.si import SI


class Traced(SI):
    """Records the path of the first layer."""

    def __init__(self, settings):
        super().__init__(4, 0, torch.device("cpu"), settings)
        self.trace = []

    def before_step(self, X, y):
        weight = self.network.hidden[0].weight
        # The gradient of the loss alone, without additions of the optimiser or the penalty.
        gradient = torch.autograd.grad(self.loss(X, y), weight)[0]
        self.trace.append((weight.detach().clone(), gradient))


def learned(tasks, **settings):
    method = Traced(SI.Settings(**{"hidden": 6, "depth": 1, "epochs": 1, "steps": 40, **settings}))
    for number in range(tasks):
        random = np.random.default_rng(number)
        method.trace.clear()
        method.learn(random.normal(size=(40, 4)).astype(np.float32), 2 * number + np.arange(40) % 2)
    return method


def share_of_last_task(method):
    """ω by its definition."""
    weights = [weight for weight, _ in method.trace] + [method.network.hidden[0].weight.detach()]
    gradients = [gradient for _, gradient in method.trace]
    return -sum(g * (after - before) for g, before, after in zip(gradients, weights, weights[1:], strict=False))


def test_the_path_integral_uses_the_gradient_of_the_loss_alone():
    method = learned(2, strength=50.0)
    torch.testing.assert_close(method.path[0], share_of_last_task(method), atol=1e-6, rtol=1e-3)


def test_importance_is_the_share_over_the_distance_summed_over_tasks():
    first, both = learned(1, damping=0.01), learned(2, damping=0.01)
    start, end = (method.network.hidden[0].weight.detach() for method in (first, both))
    own = share_of_last_task(both).clamp_min(0) / ((end - start).square() + 0.01)
    kept = first.state["importance.hidden.0.weight"]
    torch.testing.assert_close(both.state["importance.hidden.0.weight"], kept + own, atol=1e-4, rtol=1e-3)
    assert (both.state["importance.hidden.0.weight"] >= kept).all()


def test_the_shares_add_up_to_the_fall_of_the_loss():
    # With small steps on all samples the sum approximates the integral.
    method, untrained = learned(1, momentum=0.0, steps=300), Traced(SI.Settings(hidden=6, depth=1))
    untrained._add_classes(2)
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32))
    with torch.no_grad():
        fall = untrained.loss(X, torch.arange(40) % 2) - method.loss(X, torch.arange(40) % 2)
    assert sum(float(path.sum()) for path in method.path) == pytest.approx(float(fall), rel=0.05)


def test_a_damping_of_zero_is_refused():
    with pytest.raises(ConfigurationError, match="damping"):
        SI.Settings(damping=0.0)
