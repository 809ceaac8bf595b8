import math

import pytest
import torch
from torch.nn import functional as F

from if2net.methods.ari import ARI, OFFSET, ARISettings, stacked_logits

CLASSES_OF = {0: (0, 1), 1: (2, 3), 2: (4, 5)}


def stream():
    generator = torch.Generator().manual_seed(0)
    for task in range(3):
        y = torch.arange(60) % 2 + 2 * task
        yield torch.randn(60, 6, generator=generator) + y[:, None], y


def before_third_task(**settings):
    """A method that has begun its third task, and a batch of samples of the first and the third."""
    method = ARI(6, 0, torch.device("cpu"), ARISettings(hidden=8, steps=30, epochs=1, memory=40, **settings))
    tasks = list(stream())
    for X, y in tasks[:2]:
        method.learn(X.numpy(), y.numpy())
    method._make_room(6)
    method.begin(*tasks[2])
    method.optimiser = torch.optim.SGD(method.trained(), lr=method.settings.rate, momentum=method.settings.momentum)
    return method, *(torch.cat([tasks[0][part][:7], tasks[2][part][:9]]) for part in (0, 1))


def loss_of(network, X, y, classes):
    columns = list(classes)
    target = F.one_hot(y, network.classes).float()
    return F.binary_cross_entropy_with_logits(network(X)[:, columns], target[:, columns])


def brute_force(method, X, y, noise):
    """The paper's step, one task and one network after the other."""
    epsilon, rate, network = method.settings.epsilon, method.settings.rate, method.network
    parameters = list(network.parameters())
    start = [parameter.detach().clone() for parameter in parameters]
    moves = []
    with torch.no_grad():
        gate = network.gate(X)

    def descend(X, y, classes):
        slopes = torch.autograd.grad(loss_of(network, X, y, classes), parameters)
        with torch.no_grad():
            for parameter, slope in zip(parameters, slopes, strict=True):
                parameter -= rate * slope

    for classes in CLASSES_OF.values():
        mine = (y >= classes[0]) & (y <= classes[1])
        if not mine.any():
            continue
        classes = range(6) if method.settings.scope == "seen" else classes
        descend(X[mine], y[mine], classes)
        near = (X + noise)[mine].requires_grad_()
        slope = torch.autograd.grad(loss_of(network, near, y[mine], classes), near)[0]
        attack = ((noise[mine] + epsilon * slope.sign()) * (1 - gate[mine] ** 2)).clamp(-epsilon, epsilon)
        descend(X[mine] + attack, y[mine], classes)
        moves.append([parameter.detach() - old for parameter, old in zip(parameters, start, strict=True)])
        with torch.no_grad():
            for parameter, old in zip(parameters, start, strict=True):
                parameter.copy_(old)
    alpha, fused = math.exp(-method.settings.decay * 2), []
    for old, *each in zip(start, *moves, strict=True):
        weights = [move.abs().sum() ** 2 + OFFSET for move in each]
        total = sum(weight * move for weight, move in zip(weights, each, strict=True)) / sum(weights)
        fused.append(alpha * (old + total) + (1 - alpha) * old)
    return fused


@pytest.mark.parametrize("scope", ["seen", "current"])
def test_a_step_is_the_papers(scope):
    method, X, y = before_third_task(scope=scope, momentum=0.0, rate=0.5, epsilon=0.3)
    state = method.noise.get_state()
    noise = torch.empty_like(X).uniform_(-0.3, 0.3, generator=method.noise)
    method.noise.set_state(state)
    expected = brute_force(method, X, y, noise)
    before = [parameter.detach().clone() for parameter in method.network.parameters()]
    method.step(X, y)
    for parameter, old, wanted in zip(method.network.parameters(), before, expected, strict=True):
        assert not torch.equal(parameter, old)
        torch.testing.assert_close(parameter.detach(), wanted, rtol=1e-4, atol=1e-6)


def test_a_stack_of_networks_gives_what_each_gives():
    networks = [before_third_task()[0].network for _ in range(2)]
    with torch.no_grad():
        for parameter in networks[1].parameters():
            parameter.mul_(1.5)
        stack = {name: torch.stack([n.get_parameter(name) for n in networks]) for name in networks[0].state_dict()}
        X = torch.randn(2, 5, 6)
        torch.testing.assert_close(
            stacked_logits(stack, X), torch.stack([n(x) for n, x in zip(networks, X, strict=True)])
        )


def test_the_gate_decides_what_the_network_sees():
    network = before_third_task()[0].network
    X = torch.randn(4, 6)
    with torch.no_grad():
        network.attention.weight.zero_()
        network.attention.bias.fill_(-100.0)
        torch.testing.assert_close(network(X), network(torch.zeros_like(X)))
