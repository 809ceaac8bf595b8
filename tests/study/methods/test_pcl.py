"""PCL: the closed-form slope, the clipping, the initial networks, and the comparison of candidates."""

import numpy as np
import pytest
import torch

from if2net.study.methods.pcl import PCL, PCLSettings, _normalise

RANDOM = np.random.default_rng(0)
CENTRES = 3 * RANDOM.normal(size=(6, 12))


def task(*classes):
    y = np.repeat(classes, [20 + 5 * place for place in range(len(classes))])
    return (CENTRES[y] + RANDOM.normal(size=(len(y), 12))).astype(np.float32), y


TASKS = [task(0, 1), task(2, 3), task(4, 5)]
SMALL = {"hidden": 16, "nodes": 8, "epochs": 1, "steps": 40}


def learned(tasks, **settings):
    method = PCL(12, 0, torch.device("cpu"), PCLSettings(**SMALL | settings))
    for X, y in tasks:
        method.learn(X, y)
    return method


def started(tasks, following, **settings):
    """A method before the first step of a task, with slightly perturbed networks."""
    method = learned(tasks, **settings)
    X, y = (torch.from_numpy(part) for part in following)
    method._add_classes(int(y.max()) + 1)
    method.begin(X, y)
    with torch.no_grad():
        for part in method._one_class():
            part[method.old_classes :] += 0.1 * torch.randn(
                part[method.old_classes :].shape, generator=method.generator(9)
            )
    return method, X, y


def test_the_one_class_loss_equals_double_backpropagation():
    method, X, y = started(TASKS[:1], TASKS[1], dropout=0.0, sharing=0.3)
    X = _normalise(X)
    losses = method.one_class_losses(X, y - 2)
    gradients = torch.autograd.grad(losses.sum(), method._one_class())
    for label in (2, 3):
        W, w = (part[label].detach().clone().requires_grad_() for part in method._one_class())
        x = X[y == label].clone().requires_grad_()
        score = torch.relu(x @ W.T) @ w
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        loss = 0.5 * (slope.norm(dim=1) ** 8).mean() - torch.log(torch.sigmoid(score) + 0.01).mean()
        start = [part[:2].detach().mean(dim=0) for part in method._one_class()]
        loss = loss + 0.3 * ((W - start[0]).norm() + (w - start[1]).norm())
        torch.testing.assert_close(losses[label - 2], loss)
        for gradient, wanted in zip(gradients, torch.autograd.grad(loss, (W, w)), strict=True):
            torch.testing.assert_close(gradient[label], wanted)


def test_each_network_is_clipped_by_its_own_norm():
    method, X, y = started(TASKS[:1], TASKS[1], clip=0.05)
    method.loss(X, y).backward()
    before = [part.grad.clone() for part in method._one_class()]
    before[0][3], before[1][3] = 1e-4 * before[0][3], 1e-4 * before[1][3]  # below the bound, so it must not change
    for part, gradient in zip(method._one_class(), before, strict=True):
        part.grad.copy_(gradient)
    method.before_step(X, y)
    after = [part.grad for part in method._one_class()]
    assert float(torch.cat([part[2].flatten() for part in after]).norm()) == pytest.approx(0.05, rel=1e-4)
    assert all(torch.equal(old[3], new[3]) for old, new in zip(before, after, strict=True))
    softmax = [*method.network.hidden[1].parameters(), *method.network.head.parameters()]
    assert float(torch.cat([part.grad.flatten() for part in softmax]).norm()) <= 0.05 * 1.001


def test_new_classes_start_from_the_mean_and_old_networks_do_not_change():
    method = learned(TASKS[:1])
    before = [part.detach().clone() for part in method._one_class()]
    X = _normalise(torch.from_numpy(TASKS[0][0]))
    softmax = method.logits(X)[0]
    method._add_classes(4)
    for old, new in zip(before, method._one_class(), strict=True):
        torch.testing.assert_close(new[2:], old.mean(dim=0, keepdim=True).expand_as(new[2:]))
    method = learned(TASKS)
    assert all(torch.equal(old, new[:2]) for old, new in zip(before, method._one_class(), strict=True))
    assert torch.equal(method.logits(X)[0], softmax)


def test_scores_subtract_the_other_classes_and_leave_one_candidate_per_task():
    method = learned(TASKS)
    X = torch.from_numpy(TASKS[1][0][:7])
    scores = method.scores(X)
    for place, x in enumerate(_normalise(X)):
        for rows, logits in zip(method.rows(), method.logits(x[None]), strict=True):
            label = rows.start + int(logits.argmax())
            others = torch.stack([W for other, W in enumerate(method.network.first) if other != label]).mean(dim=0)
            features = torch.relu(method.network.first[label] @ x) - 0.1 * torch.relu(others @ x)
            torch.testing.assert_close(scores[place, label], method.network.second[label] @ features)
    assert torch.isfinite(scores).sum(dim=1).tolist() == [3] * 7


def test_a_trained_class_scores_its_own_samples_higher():
    method = learned(TASKS[:1], steps=200)
    X, y = TASKS[0]
    scores = method.scores(torch.from_numpy(X))
    assert np.mean(scores.argmax(dim=1).numpy() == y) > 0.9
