import itertools

import pytest
import torch
from torch.nn import functional as F

from if2net.study.methods.bic import HOLD_OUT_EVERY, PENALTY, BiC, newest_correction
from if2net.study.methods.common.distillation import DistillationSettings


class Watched(BiC):
    """Records the samples that it trains on."""

    def train(self, X, y):
        self.seen = [*getattr(self, "seen", []), X]
        super().train(X, y)


def rows(*parts):
    return {tuple(row) for part in parts for row in part.tolist()}


def stream(tasks=3, size=80):
    generator = torch.Generator().manual_seed(0)
    for task in range(tasks):
        y = torch.arange(size) % 2 + 2 * task
        yield (torch.randn(size, 6, generator=generator) + y[:, None]), y


@pytest.fixture
def method():
    return Watched(6, 0, torch.device("cpu"), DistillationSettings(hidden=16, steps=40, epochs=1, memory=60))


def test_held_out_samples_are_never_trained_on(method, monkeypatch):
    corrected_on = []
    original = BiC.fit_correction

    def fit_correction(self, X, y):
        corrected_on.append(X[self.held_out(y)])
        original(self, X, y)

    monkeypatch.setattr(BiC, "fit_correction", fit_correction)
    for X, y in stream():
        method.learn(X.numpy(), y.numpy())
    assert [len(part) for part in corrected_on] == [6, 12, 12]  # 3 of 30, 3 of 30, 2 of 15 exemplars per class
    assert not rows(*corrected_on) & rows(*method.seen)


def test_the_memory_is_balanced_and_includes_the_hold_out(method):
    for X, y in stream():
        method.learn(X.numpy(), y.numpy())
    X, y = method.memory
    assert y.bincount().tolist() == [10] * 6
    assert method.held_out(y).sum() == 6 * 10 // HOLD_OUT_EVERY


def test_the_correction_minimises_the_penalised_error():
    y = torch.arange(400) % 4
    logits = 2 * F.one_hot(y, 4) + torch.randn(400, 4, generator=torch.Generator().manual_seed(0))
    logits[:, 2:] = 3 * logits[:, 2:] + 4  # the bias to the new classes

    def error(a, b):
        corrected = torch.cat([logits[:, :2], a * logits[:, 2:] + b], dim=1)
        return F.cross_entropy(corrected, y) + PENALTY * ((a - 1) ** 2 + b**2)

    correction = newest_correction(logits, y, old=2)
    for a, b in itertools.product((-0.02, 0, 0.02), repeat=2):
        assert error(*correction) <= error(correction[0] + a, correction[1] + b) + 1e-6
    assert error(*correction) < 0.8 * error(1, 0)


def test_only_the_newest_classes_are_corrected_also_in_the_teacher(method):
    tasks = list(stream())
    for X, y in tasks[:2]:
        method.learn(X.numpy(), y.numpy())
    scale, shift = method.state["scale"], method.state["shift"]
    assert scale[:2].tolist() == [1, 1]
    assert shift[:2].tolist() == [0, 0]
    assert scale[2] == scale[3] != 1
    X, y = tasks[2]
    method._add_classes(6)
    method.begin(X, y)
    logits, teacher = method.network(X), method.teacher(X)[:, :4] * scale + shift
    share, p = 4 / 6, (teacher / 2).softmax(dim=1)
    remembering = (p * (p.log() - (logits[:, :4] / 2).log_softmax(dim=1))).sum(dim=1).mean()
    expected = (1 - share) * F.cross_entropy(logits, y) + share * remembering
    torch.testing.assert_close(method.loss(X, y), expected)


def test_large_inputs_give_a_step_of_a_bounded_size(method):
    X, y = next(stream())
    method.learn(X.numpy(), y.numpy())
    method.network.zero_grad()
    method.loss(1e4 * X, 1 - y).backward()
    gradients = [parameter.grad for parameter in method.network.parameters()]
    assert torch.stack([gradient.norm() for gradient in gradients]).norm() > 100
    method.before_step(X, y)
    assert torch.stack([gradient.norm() for gradient in gradients]).norm() < 2.001
