from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from if2net.errors import ConfigurationError
from if2net.study.methods.rps_net import RPSNet, RPSNetSettings

SETTINGS = RPSNetSettings(hidden=8, depth=2, steps=20, epochs=1, memory=40, paths=2, modules=4)


def stream(tasks=3):
    generator = torch.Generator().manual_seed(0)
    for task in range(tasks):
        y = torch.arange(60) % 2 + 2 * task
        yield torch.randn(60, 6, generator=generator) + y[:, None], y


def make(kind=RPSNet, **changes):
    return kind(6, 0, torch.device("cpu"), replace(SETTINGS, **changes))


def in_second_task(**changes):
    method = make(**changes)
    (X, y), second = stream(2)
    method.learn(X.numpy(), y.numpy())
    method._add_classes(4)
    method.begin(*second)
    return method, *second


def test_training_the_sum_equals_training_the_new_module():
    """Compare with separate modules: the old one frozen, the new one trained by the same steps."""
    method, X, y = in_second_task()
    method.state["used"][:] = torch.tensor([[True, False, False, False]] * 2)
    frozen = [(layer.weight.detach().clone(), layer.bias.detach().clone()) for layer in method.network.hidden]
    method.enter([1, 0])  # a new module in the first layer, the old one in the second
    sums = method.network.hidden[0].parameters()
    new = [(total - old).detach().requires_grad_() for total, old in zip(sums, frozen[0], strict=True)]
    head = [parameter.detach().clone().requires_grad_() for parameter in method.network.head.parameters()]
    apart = torch.optim.SGD([*new, *head], lr=0.01, momentum=0.9)
    method.optimiser = torch.optim.SGD(method.trainable(), lr=0.01, momentum=0.9)
    for _ in range(20):
        method.step(X, y)
        logits = logits_of(X, frozen, new, head)
        target = torch.cat([method.teacher(X)[:, :2], F.one_hot(y, 4)[:, 2:]], dim=1) / 2
        terms = target.softmax(dim=1) * (target.log_softmax(dim=1) - (logits / 2).log_softmax(dim=1))
        apart.zero_grad()
        (F.cross_entropy(logits, y) + terms.clamp(min=0).sum() / len(y)).backward()
        apart.step()
    torch.testing.assert_close(method.network(X), logits_of(X, frozen, new, head), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(method.network.hidden[1].weight.detach(), frozen[1][0])


def logits_of(X, frozen, new, head):
    h = torch.relu(F.linear(X, *frozen[0]) + F.linear(X, *new))
    return F.linear(torch.relu(F.linear(h, *frozen[1])), *head)


def test_the_path_with_the_best_hold_out_accuracy_is_kept(monkeypatch):
    method, X, y = in_second_task(paths=3)
    accuracies, ends = iter([0.2, 0.9, 0.5]), []

    def accuracy(X, y):
        ends.append(method.weights())
        return next(accuracies)

    monkeypatch.setattr(method, "accuracy", accuracy)
    first, paths = method.state["used"].clone(), method.draw_paths()
    method.train(*method.training_data(X, y))
    torch.testing.assert_close(method.weights(), ends[1], rtol=0, atol=0)
    assert not torch.equal(ends[0]["head.weight"], ends[1]["head.weight"])
    first[[0, 1], paths[1]] = True
    assert torch.equal(method.state["used"], first)


def test_the_hold_out_is_not_trained_on_and_exemplars_are_repeated():
    method, X, y = in_second_task(repeats=3)
    X, y = method.training_data(X, y)
    held_out, rest = method.split(y)
    assert len(held_out) == len(y) // 10
    assert not set(held_out.tolist()) & set(rest.tolist())
    assert set(held_out.tolist()) | set(rest.tolist()) == set(range(len(y)))
    times = rest.bincount(minlength=len(y))
    assert set(times[y < 2].tolist()) == {0, 3}
    assert set(times[y >= 2].tolist()) == {0, 1}


def test_the_weight_of_the_distillation_grows_with_the_tasks():
    method = make()
    weights = []
    for method.tasks in range(1, 5):
        weights.append(method.distillation_weight())
    assert weights == [1.0, 2.5, 5.0, 7.5]


@pytest.mark.parametrize("name", ["modules", "paths", "repeats"])
def test_fewer_than_one_is_refused(name):
    with pytest.raises(ConfigurationError, match=name):
        replace(SETTINGS, **{name: 0})
