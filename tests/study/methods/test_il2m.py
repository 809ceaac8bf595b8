import pytest
import torch

from if2net.study.methods.common.replay import ReplaySettings
from if2net.study.methods.il2m import IL2M


def stream():
    generator = torch.Generator().manual_seed(0)
    for task in range(3):
        y = torch.arange(80) % 2 + 2 * task
        yield (torch.randn(80, 6, generator=generator) + y[:, None]), y


def make(memory=40):
    return IL2M(6, 0, torch.device("cpu"), ReplaySettings(hidden=16, steps=60, epochs=1, memory=memory))


def learned(memory=40):
    method = make(memory)
    for X, y in stream():
        method.learn(X.numpy(), y.numpy())
    return method


def test_the_factor_equals_the_equation():
    """(μ⁰/μᵗ)·(κᵗ/κ) per class, computed from the networks after each task."""
    method, initial, confidence = make(), {}, {}
    for X, y in stream():
        old_X, old_y = method.memory
        method.learn(X.numpy(), y.numpy())
        probabilities, present = (method.probabilities(part).detach() for part in (X, old_X))
        for label in y.unique().tolist():
            initial[label] = probabilities[y == label, label].mean()
            confidence[label] = probabilities.max(dim=1).values.mean()
    latest = confidence[5]
    for label in range(4):
        now = present[old_y == label, label].mean()
        expected = initial[label] / now * (latest / confidence[label])
        torch.testing.assert_close(method.state["factor"][label], expected)
    assert method.state["factor"][4:].tolist() == [1, 1]
    assert (method.state["factor"][:4] != 1).all()


def test_scores_are_rectified_only_if_a_new_class_wins():
    method = learned()
    method.state["factor"][:4] = 3.0
    X = torch.cat([X for X, _ in stream()])
    probabilities = method.network(X).softmax(dim=1)
    new_wins = probabilities.argmax(dim=1) >= 4
    assert 0 < new_wins.sum() < len(X)
    scores = method.scores(X)
    torch.testing.assert_close(scores[~new_wins], probabilities[~new_wins])
    torch.testing.assert_close(scores[new_wins, :4], 3 * probabilities[new_wins, :4])
    torch.testing.assert_close(scores[new_wins, 4:], probabilities[new_wins, 4:])


@pytest.mark.parametrize("memory", [0, 3])
def test_factors_of_classes_without_exemplars_stay_bounded(memory):
    method = learned(memory)
    assert (method.state["factor"] < 10).all()
    assert (method.state["factor"] > 0.1).all()
