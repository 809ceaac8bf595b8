import numpy as np
import pytest
import torch
from torch.func import functional_call
from torch.nn import functional as F

from if2net.study.methods.common.network import append_ones, gradient, linear_layers, run_layers
from if2net.study.methods.fs_dgpm import FSDGPM, FSDGPMSettings, basis

SMALL = {"hidden": 10, "depth": 2, "epochs": 1, "steps": 20, "memory": 24, "batch_size": 8}
ENERGY = 0.9


def prepared(tasks=1, **settings):
    """The method at the start of the task after `tasks` learned ones, and a batch of that task."""
    method = FSDGPM(6, 0, torch.device("cpu"), FSDGPMSettings(**SMALL | {"energy": ENERGY} | settings))
    random = np.random.default_rng(0)
    for task in range(tasks):
        method.learn(random.normal(size=(30, 6)), np.arange(30) % 2 + 2 * task)
    X, y = torch.randn(8, 6, generator=torch.Generator().manual_seed(1)), torch.arange(8) % 2 + 2 * tasks
    method._add_classes(2 * tasks + 2)
    method.begin(X, y)
    return method, X, y


def written_out(method, X, y, importances):
    """The loss after two ascents, with explicit projection matrices."""
    both_X, both_y = X, y
    if method.bases:
        drawn = torch.randint(24, (8,), generator=method.random)
        both_X, both_y = (torch.cat([new, old[drawn]]) for new, old in zip((X, y), method.memory, strict=True))
    weights = {name: weight.detach() for name, weight in method.network.named_parameters()}
    losses = []
    for half in (slice(0, 4), slice(4, 8)):
        weights = {name: weight.requires_grad_() for name, weight in weights.items()}
        loss = F.cross_entropy(functional_call(method.network, weights, (X[half],)), y[half])
        names = list(weights)
        gradients = torch.autograd.grad(loss, list(weights.values()))
        higher = {}
        for place, (weight, bias) in enumerate(zip(names[::2], names[1::2], strict=True)):
            g = torch.cat([gradients[2 * place], gradients[2 * place + 1][:, None]], dim=1)
            if place < len(method.bases):
                U = method.bases[place]
                g = g @ U @ torch.diag(torch.sigmoid(10 * importances[place])) @ U.T
            up = method.settings.ascent * g.clamp(-2, 2)
            higher[weight] = (weights[weight] + up[:, :-1]).detach()
            higher[bias] = (weights[bias] + up[:, -1]).detach()
        weights = higher
        losses.append(float(F.cross_entropy(functional_call(method.network, weights, (both_X,)), both_y)))
    return sum(losses) / 2


@pytest.mark.parametrize("tasks", [0, 1])
def test_the_loss_is_evaluated_after_the_ascents(tasks):
    method, X, y = prepared(tasks, ascent=5.0)
    loss = float(method.loss(X, y).detach())
    method.begin(X, y)  # resets the generator, so that the same exemplars are drawn
    assert loss == pytest.approx(written_out(method, X, y, method.importances), rel=1e-4)
    assert len(method.bases) == (2 if tasks else 0)


def test_gradients_are_projected_out_of_the_old_subspace_except_in_the_head():
    method, X, y = prepared()
    method.loss(X, y).backward()
    before = [gradient(layer) for layer in linear_layers(method.network)]
    cut = min(1.0, 2 / float(torch.cat([g.flatten() for g in before]).norm()))
    method.before_step(X, y)
    after = [gradient(layer) for layer in linear_layers(method.network)]
    for U, old, new in zip(method.bases, before, after, strict=False):
        assert (old @ U).norm() > 0
        assert (new @ U).norm() < 1e-3 * (old @ U).norm()  # σ(10) is not quite 1
        torch.testing.assert_close(new - new @ U @ U.T, cut * (old - old @ U @ U.T), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(after[-1], cut * before[-1])


def test_an_unimportant_direction_is_not_projected_out():
    method, X, y = prepared()
    with torch.no_grad():
        method.importances[0][0] = -5.0
    method.loss(X, y).backward()
    before = gradient(linear_layers(method.network)[0])
    method.before_step(X, y)
    along = gradient(linear_layers(method.network)[0]) @ method.bases[0]
    assert along[:, 0].norm() > 0.5 * (before @ method.bases[0])[:, 0].norm() > 0
    assert along[:, 1:].norm() < 1e-3 * (before @ method.bases[0]).norm()


def test_importances_are_learned_and_keep_their_values_between_steps():
    method, X, y = prepared(importance_rate=1.0, ascent=0.5)
    values = []
    for _ in range(3):
        with torch.no_grad():
            values.append([importance.clone() for importance in method.importances])
        method.network.zero_grad()
        method.loss(X, y).backward()
        slopes = [importance.grad.clone() for importance in method.importances]
        if len(values) == 1:
            first = slopes
        method.before_step(X, y)
    for before, after, slope in zip(values[0], values[1], first, strict=True):
        assert slope.abs().max() > 0
        torch.testing.assert_close(after, before - slope)
    assert all((third != second).any() for second, third in zip(values[1], values[2], strict=True))


def test_the_basis_is_the_smallest_with_enough_energy():
    rows = torch.randn(40, 12, generator=torch.Generator().manual_seed(0)) * torch.logspace(0, -1, 12)
    U = basis(rows, ENERGY)
    energy = (rows @ U).square().sum(dim=0) / rows.square().sum()
    torch.testing.assert_close(U.T @ U, torch.eye(U.shape[1]), rtol=0, atol=1e-5)
    assert energy.sum() >= ENERGY > energy[:-1].sum()
    assert basis(rows, 1.0).shape[1] <= 12


def test_the_energy_of_the_bases_grows_with_the_tasks():
    method, _, _ = prepared(tasks=2, energy=0.5, energy_growth=0.3, basis_samples=100)
    inputs = append_ones(run_layers(method.network, method.memory[0])[0])
    for U, rows in zip(method.bases, inputs, strict=False):
        share = (rows @ U).square().sum() / rows.square().sum()
        assert share >= 0.8 - 1e-5
