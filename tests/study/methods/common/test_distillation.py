import pytest
import torch

from if2net.study.methods.common.distillation import Distillation, DistillationSettings


class Plain(Distillation):
    name = summary = "plain"


@pytest.fixture
def method():
    return Plain(4, 0, torch.device("cpu"), DistillationSettings(hidden=8, steps=5, epochs=1, memory=10))


def test_divergence_is_between_the_softened_probabilities(method):
    logits, target = torch.randn(5, 3), torch.randn(5, 3)
    p, q = (target / 2).softmax(dim=1), (logits / 2).softmax(dim=1)
    torch.testing.assert_close(method.divergence(logits, target), p * (p / q).log())


def test_the_teacher_is_the_network_before_the_task(method):
    X, y = torch.randn(20, 4).numpy(), torch.arange(20).remainder(2).numpy()
    method.learn(X, y)
    before = method.network(torch.from_numpy(X))
    method.learn(X, y + 2)
    torch.testing.assert_close(method.teacher(torch.from_numpy(X))[:, :2], before)
    assert not torch.allclose(method.network(torch.from_numpy(X))[:, :2], before)
