"""The penalty that EWC, online EWC, MAS and SI share."""

import numpy as np
import pytest
import torch

from if2net.errors import ConfigurationError
from if2net.study.methods.common import importance
from if2net.study.methods.common.network import Network
from if2net.study.methods.ewc import EWC
from if2net.study.methods.mas import MAS
from if2net.study.methods.none import NoDefence
from if2net.study.methods.online_ewc import OnlineEWC
from if2net.study.methods.si import SI

each_method = pytest.mark.parametrize("kind", [EWC, MAS, OnlineEWC, SI])
CPU = torch.device("cpu")


def make(kind, **settings):
    return kind(5, 0, CPU, kind.Settings(**{"hidden": 8, "depth": 2, "epochs": 1, "steps": 60, **settings}))


def task(number):
    """Two classes, each around its own centre."""
    random = np.random.default_rng(number)
    y = np.repeat([2 * number, 2 * number + 1], 40)
    return (random.normal(size=(2, 5)).repeat(40, axis=0) + 0.3 * random.normal(size=(80, 5))), y


def learned(kind, tasks=2, **settings):
    method = make(kind, **settings)
    for number in range(tasks):
        method.learn(*task(number))
    return method


@pytest.mark.parametrize("power", [1, 2])
def test_moments_equal_those_of_per_sample_gradients(power, monkeypatch):
    monkeypatch.setattr(importance, "CHUNK", 4)  # so that the samples are split into several parts
    network = Network(5, 3, hidden=6, depth=2, generator=torch.Generator().manual_seed(0))
    X = torch.randn(10, 5, generator=torch.Generator().manual_seed(1))

    def scores(logits):
        return torch.stack([logits.square().sum(dim=1), logits.log_softmax(dim=1)[:, 2]], dim=1)

    expected = [torch.zeros_like(parameter) for parameter in network.parameters()]
    for sample in X:
        for score in scores(network(sample[None]))[0]:
            gradients = torch.autograd.grad(score, list(network.parameters()), retain_graph=True)
            for total, gradient in zip(expected, gradients, strict=True):
                total += gradient.abs() ** power / len(X)
    for moment, wanted in zip(importance.gradient_moments(network, X, scores, power), expected, strict=True):
        torch.testing.assert_close(moment, wanted)


PENALTIES = {
    EWC: lambda s, distance: s.strength / 2 * distance**2,
    MAS: lambda s, distance: s.strength * distance**2,
    OnlineEWC: lambda s, distance: s.strength / 2 * s.decay * distance**2,
    SI: lambda s, distance: s.strength * distance**2,
}


@each_method
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_training_converges_to_the_balance_of_loss_and_penalty(kind, momentum):
    settings = {"decay": 0.5} if kind is OnlineEWC else {}
    method = learned(kind, 1, strength=3.0, momentum=momentum, rate=0.1, steps=400, **settings)
    method.state |= {name: torch.ones_like(value) for name, value in method.state.items() if "importance" in name}
    slope = 0.7
    method.loss = lambda X, y: slope * sum(parameter.sum() for parameter in method.network.parameters())
    X, y = (torch.as_tensor(part) for part in task(0))
    method.begin(X, y)
    method.train(X, y)
    distance = method.network.hidden[0].weight.detach() - method.state["anchor.hidden.0.weight"]
    distance.requires_grad_()
    (slope * distance + PENALTIES[kind](method.settings, distance)).sum().backward()
    torch.testing.assert_close(distance.grad, torch.zeros_like(distance), atol=1e-4, rtol=0)


@each_method
def test_a_penalty_of_strength_zero_changes_nothing(kind):
    held, plain = learned(kind, strength=0.0).network, learned(NoDefence).network
    for parameter, wanted in zip(held.parameters(), plain.parameters(), strict=True):
        assert torch.equal(parameter, wanted)


@each_method
def test_a_huge_strength_is_stable_and_leaves_only_new_rows_free(kind):
    method = learned(kind, 1, strength=1e12)
    weights = [value.clone() for value in method.network.parameters()]
    kept = [method.state[f"importance.{name}"] for name, _ in method.network.named_parameters()]
    method.learn(*task(1))
    for before, after, weight in zip(weights, method.network.parameters(), kept, strict=True):
        matters = weight > 1e-4
        assert matters.any()
        torch.testing.assert_close(after[: len(before)][matters], before[matters], atol=1e-3, rtol=0)
    X, y = task(1)
    assert np.mean(method.predict(X) == y) > 0.5


@each_method
def test_a_penalty_preserves_the_outputs_on_the_first_task(kind):
    X = torch.as_tensor(task(0)[0], dtype=torch.float32)

    def drift(strength):
        method = learned(kind, 1, strength=strength)
        before = method.scores(X).detach()
        method.learn(*task(1))
        return float((method.scores(X).detach()[:, :2] - before).abs().mean())

    assert drift(1e4) < drift(0.0) / 2


@each_method
@pytest.mark.parametrize("scope", ["seen", "current"])
def test_new_rows_have_no_importance_and_start_at_their_anchor(kind, scope):
    method = learned(kind, 1, scope=scope)
    kept = {name: value.clone() for name, value in method.state.items()}
    X, y = (torch.as_tensor(part) for part in task(1))
    method._add_classes(4)
    method.begin(X, y)
    for name in ("weight", "bias"):
        index = [key for key, _ in method.network.named_parameters()].index(f"head.{name}")
        weights, anchor = getattr(method.network.head, name), method.anchor[index]
        assert torch.equal(anchor, torch.cat([kept[f"anchor.head.{name}"], weights[2:]]))
        assert torch.equal(method.importance[index][:2], kept[f"importance.head.{name}"])
        assert not method.importance[index][2:].any()


def test_a_negative_strength_is_refused():
    with pytest.raises(ConfigurationError, match="negative"):
        MAS.Settings(strength=-1.0)
