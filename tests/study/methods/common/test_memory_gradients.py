import numpy as np
import torch
from torch.nn import functional as F

from if2net.study.methods.common.memory_gradients import MemoryGradientsSettings
from if2net.study.methods.common.network import join, linear_layers
from if2net.study.methods.gem import GEM

SMALL = {"hidden": 8, "depth": 2, "epochs": 1, "steps": 5, "memory": 24}


def after_two_tasks():
    """GEM at the start of its third task, and a batch of that task."""
    method = GEM(6, 0, torch.device("cpu"), MemoryGradientsSettings(**SMALL))
    random = np.random.default_rng(0)
    for task in range(2):
        method.learn(random.normal(size=(30, 6)), np.arange(30) % 2 + 2 * task)
    X, y = torch.randn(10, 6, generator=torch.Generator().manual_seed(0)), torch.arange(10) % 2 + 4
    method._add_classes(6)
    method.begin(X, y)
    return method, X, y


def test_gradients_of_all_old_tasks_equal_those_computed_task_by_task():
    method, _, _ = after_two_tasks()
    together = method.memory_gradients()
    method.begin(*method.memory)  # resets the generator, so that the same samples are drawn
    for task, (start, end) in enumerate(method.spans):
        X, y = method.memory
        drawn = torch.randint(start, end, (256,), generator=method.random)
        assert set(method.state["memory.task"][start:end].tolist()) == {task}
        loss = F.cross_entropy(method.network(X[drawn]), y[drawn])
        alone = torch.autograd.grad(loss, list(method.network.parameters()))
        for gradients, weight, bias in zip(together, alone[::2], alone[1::2], strict=True):
            torch.testing.assert_close(gradients[task], join(weight, bias))


def test_weights_apply_to_the_batch_and_then_to_the_old_tasks_in_order():
    method, X, y = after_two_tasks()
    method.loss(X, y).backward()
    own = [join(layer.weight.grad, layer.bias.grad) for layer in linear_layers(method.network)]
    old = method.memory_gradients()
    method.begin(X, y)
    weights = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0], [0.0, 0.5, 0.0]])
    seen = []
    method.combine = lambda products: (seen.append(products), weights)[1]
    method.before_step(X, y)
    for place, layer in enumerate(linear_layers(method.network)):
        rows = torch.stack([own[place], *old[place]])
        expected = (weights[place, :, None, None] * rows).sum(dim=0)
        torch.testing.assert_close(join(layer.weight.grad, layer.bias.grad), expected)
        flat = rows.flatten(1).double()
        torch.testing.assert_close(seen[0][place], flat @ flat.T, rtol=1e-4, atol=1e-6)


def test_only_the_current_task_is_trained_on():
    method, X, y = after_two_tasks()
    assert method.training_data(X, y)[0] is X
    assert len(method.memory[1]) == 24
