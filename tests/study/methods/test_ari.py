import copy
import math

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from if2net.study.methods import ari
from if2net.study.methods.ari import ARI, OFFSET, ARISettings, fuse, run_task_networks
from if2net.study.methods.common.network import linear_layers

CLASSES_OF = {0: (0, 1), 1: (2, 3), 2: (4, 5)}


def stream():
    generator = torch.Generator().manual_seed(0)
    for task in range(3):
        y = torch.arange(60) % 2 + 2 * task
        yield torch.randn(60, 6, generator=generator) + y[:, None], y


def before_third_task(**settings):
    """A method at the start of its third task, and a batch with samples of the first and third task."""
    method = ARI(6, 0, torch.device("cpu"), ARISettings(hidden=8, steps=30, epochs=1, memory=40, **settings))
    tasks = list(stream())
    for X, y in tasks[:2]:
        method.learn(X.numpy(), y.numpy())
    method._add_classes(6)
    method.begin(*tasks[2])
    method.optimiser = torch.optim.SGD(method.trainable(), lr=method.settings.rate, momentum=method.settings.momentum)
    return method, *(torch.cat([tasks[0][part][:7], tasks[2][part][:9]]) for part in (0, 1))


def loss_of(network, X, y, classes):
    columns = list(classes)
    target = F.one_hot(y, network.classes).float()
    return F.binary_cross_entropy_with_logits(network(X)[:, columns], target[:, columns])


def brute_force(method, X, y, noise):
    """The paper's step with one explicit network per task."""
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
def test_a_step_equals_the_papers(scope):
    method, X, y = before_third_task(scope=scope, momentum=0.0, rate=0.5, epsilon=0.3)
    state = method.random.get_state()
    noise = torch.empty_like(X).uniform_(-0.3, 0.3, generator=method.random)
    method.random.set_state(state)
    expected = brute_force(method, X, y, noise)
    before = [parameter.detach().clone() for parameter in method.network.parameters()]
    method.step(X, y)
    for parameter, old, wanted in zip(method.network.parameters(), before, expected, strict=True):
        assert not torch.equal(parameter, old)
        torch.testing.assert_close(parameter.detach(), wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scope", ["seen", "current"])
def test_each_sample_passes_through_the_network_of_its_own_task(scope):
    method, X, y = before_third_task(scope=scope, rate=5.0)
    shuffled = torch.randperm(len(y), generator=torch.Generator().manual_seed(1))
    X, y = X[shuffled], y[shuffled]
    task = y // 2
    first, _ = method.descents(X, y, task)
    elsewhere = X.flip(0) + 1
    given, gave = run_task_networks(method.network, elsewhere, first, task[:, None] == task)
    for number in (0, 2):
        mine = task == number
        own = copy.deepcopy(method.network)
        loss_of(own, X[mine], y[mine], range(6) if scope == "seen" else CLASSES_OF[number]).backward()
        torch.optim.SGD(own.parameters(), lr=5.0).step()
        with torch.no_grad():
            logits, common = own(elsewhere[mine]), method.network(elsewhere[mine])
            last = own.features(elsewhere[mine])
        assert (logits - common).abs().max() > 0.1
        torch.testing.assert_close(gave[method.network.head].detach()[mine], logits)
        torch.testing.assert_close(given[method.network.head].detach()[mine], last)
    assert set(given) == set(gave) == set(linear_layers(method.network))


@pytest.mark.parametrize("elements", [1, 50, ari.ELEMENTS])
def test_tasks_are_fused_with_weights_by_the_square_of_their_moves(elements, monkeypatch):
    monkeypatch.setattr(ari, "ELEMENTS", elements)
    generator = torch.Generator().manual_seed(0)
    moves, given = (torch.randn(9, width, generator=generator) for width in (4, 5))
    task = torch.tensor([3, 0, 3, 1, 0, 3, 1, 3, 0])
    of_task = {k: sum(torch.outer(moves[j], given[j]) for j in range(9) if task[j] == k) for k in (0, 1, 3)}
    weights = {k: move.abs().sum() ** 2 + OFFSET for k, move in of_task.items()}
    expected = sum(weights[k] * of_task[k] for k in of_task) / sum(weights.values())
    torch.testing.assert_close(fuse(moves, given, task == torch.arange(5)[:, None]), expected)


class Watched(TorchDispatchMode):
    """Records the operations for which the host has to wait for the device."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        masks = [index for index in args[1] if index.dtype == torch.bool] if name == "index" else []
        if masks or name in ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "equal"):
            self.waits.append(name)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("scope", ["seen", "current"])
def test_a_step_does_not_wait_for_the_device(scope):
    method, X, y = before_third_task(scope=scope)
    with Watched() as watched:
        X[y == 0], y.max().item()
    assert watched.waits == ["index", "_local_scalar_dense"]
    with Watched() as watched:
        method.step(X, y)
    assert watched.waits == []


def test_a_closed_gate_hides_the_input():
    network = before_third_task()[0].network
    X = torch.randn(4, 6)
    with torch.no_grad():
        network.attention.weight.zero_()
        network.attention.bias.fill_(-100.0)
        torch.testing.assert_close(network(X), network(torch.zeros_like(X)))
