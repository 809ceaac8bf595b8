"""EFT: the frozen parts, the separation of tasks, and the choice of the task of a sample."""

import numpy as np
import pytest
import torch

from if2net.errors import ConfigurationError
from if2net.study.methods.eft import EFT, EFTSettings

RANDOM = np.random.default_rng(0)
CENTRES = 3 * RANDOM.normal(size=(6, 12))


def task(*classes):
    y = np.repeat(classes, 30)
    return (CENTRES[y] + RANDOM.normal(size=(len(y), 12))).astype(np.float32), y


TASKS = [task(0, 1), task(2, 3), task(4, 5)]


def learned(tasks, **settings):
    method = EFT(12, 0, torch.device("cpu"), EFTSettings(**{"hidden": 16, "epochs": 1, "steps": 60, **settings}))
    for X, y in tasks:
        method.learn(X, y)
    return method


def test_classifiers_of_earlier_tasks_do_not_change():
    method, X = learned(TASKS[:1]), torch.from_numpy(TASKS[0][0])
    before = method.logits(X)[0]
    method.learn(*TASKS[1])
    method.learn(*TASKS[2])
    assert torch.equal(method.logits(X)[0], before)


def test_a_later_task_trains_its_transforms_but_no_shared_layer():
    method = learned(TASKS[:1])
    shared = [parameter.clone() for parameter in method.network.hidden.parameters()]
    method.learn(*TASKS[1])
    assert all(torch.equal(old, new) for old, new in zip(shared, method.network.hidden.parameters(), strict=True))
    first, second = (list(transforms.parameters()) for transforms in method.network.transforms)
    assert not any(torch.equal(old, new) for old, new in zip(first, second, strict=True))
    X, y = TASKS[1]
    assert np.mean(method.logits(torch.from_numpy(X))[1].argmax(dim=1).numpy() + 2 == y) > 0.9


def test_the_branch_equals_the_equation():
    method = learned(TASKS[:2], depth=1, hidden=32, group=16, norm="batch")
    X, layer, transform = torch.from_numpy(TASKS[0][0]), method.network.hidden[0], method.network.transforms[1][0]
    assert transform.mix.shape == (2, 16, 16)
    z = (X @ layer.weight.T + layer.bias) @ torch.block_diag(*transform.mix) + transform.shift
    z = (z - transform.norm.running_mean) / (transform.norm.running_var + 1e-5).sqrt()
    wanted = torch.relu(z * transform.norm.weight + transform.norm.bias)
    torch.testing.assert_close(method.network.branch(X, 1), wanted)


def test_the_loss_separates_features_up_to_a_distance_of_one():
    method = learned(TASKS[:2])
    X, y = (torch.from_numpy(part) for part in TASKS[2])
    method._add_classes(6)
    method.begin(X, y)
    method.network.eval()  # the statistics of the batch would differ from those of the earlier tasks
    features = [method.network.branch(X, task).detach() for task in range(3)]
    distances = [float((features[2] - earlier).square().sum().sqrt()) / len(X) for earlier in features[:2]]
    assert distances[1] == 0  # the new transforms start as copies of the previous ones
    assert 0 < distances[0] < 1
    entropy = torch.nn.functional.cross_entropy(method.network.head(features[2])[:, 4:], y - 4)
    wanted = entropy.item() + 0.05 * (1 - distances[0] + 1) / 2
    assert method.loss(X, y).item() == pytest.approx(wanted, rel=1e-5)


def test_the_task_with_the_least_entropy_decides():
    method = learned(TASKS[:2])
    sure, unsure = torch.tensor([[4.0, -4.0]]), torch.tensor([[9.0, 8.9]])  # larger logits, but nearly equal
    for logits, wanted in (([unsure, sure], 2), ([sure, unsure], 0)):
        method.logits = lambda X, logits=logits: logits
        assert int(method.scores(torch.zeros(1, 12)).argmax(dim=1)) == wanted


def test_the_scope_cannot_be_all_classes():
    with pytest.raises(ConfigurationError, match="leave its scope at `current`"):
        EFTSettings(scope="seen")


def test_a_batch_of_one_sample_is_normalised_by_earlier_ones():
    X, y = TASKS[0]
    method = learned([(X[:9], y[:9])], batch_size=4, norm="batch")
    assert all(bool(buffer.isfinite().all()) for buffer in method.network.buffers())
