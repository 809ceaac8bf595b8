import numpy as np
import pytest
import torch

from if2net.accelerate import available, disabled
from if2net.accelerate.cuda_graph import RecordedStep, batch_step
from if2net.study.methods import METHODS
from if2net.study.methods.common.trainer import Trainer

GRAPH_SAFE = [name for name, method in METHODS.items() if issubclass(method, Trainer) and method.graph_safe]
CPU, GPU = torch.device("cpu"), torch.device("cuda")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")


def scores_after_three_tasks(name):
    """Train on a GPU. With batches of 40 from 100 samples, the last batch of an epoch is smaller."""
    method = METHODS[name](12, 0, GPU, METHODS[name].Settings(batch_size=40, epochs=4, steps=0))
    random = np.random.default_rng(0)
    for task in range(3):
        y = np.arange(100) % 2 + 2 * task
        X = (random.normal(size=(100, 12)) + 2 * np.eye(12)[y]).astype(np.float32)
        method.learn(X, y)
    return method.scores(torch.from_numpy(X).to(GPU)).detach().cpu()


@needs_gpu
@pytest.mark.parametrize("name", GRAPH_SAFE)
def test_recorded_steps_equal_plain_steps(name):
    recorded = scores_after_three_tasks(name)
    with disabled():
        plain = scores_after_three_tasks(name)
    torch.testing.assert_close(recorded, plain, rtol=1e-3, atol=1e-3)


@needs_gpu
def test_only_graph_safe_steps_are_recorded_and_only_while_acceleration_is_enabled():
    X, y = torch.zeros(4, 2, device=GPU), torch.zeros(4, device=GPU)

    def is_recorded(graph_safe):
        return isinstance(batch_step(print, X, y, graph_safe=graph_safe, size=2, random=None), RecordedStep)

    assert is_recorded(graph_safe=True)
    assert not is_recorded(graph_safe=False)
    with disabled():
        assert not is_recorded(graph_safe=True)


def test_a_step_on_a_cpu_is_the_plain_step():
    X, y, batches = torch.arange(6.0).reshape(3, 2), torch.tensor([5, 6, 7]), []
    step = batch_step(lambda *batch: batches.append(batch), X, y, graph_safe=True, size=2, random=None)
    step(torch.tensor([2, 0]))
    assert [part.tolist() for part in batches[0]] == [[[4.0, 5.0], [0.0, 1.0]], [7, 5]]


def test_acceleration_is_for_gpus_and_can_be_disabled_for_a_block():
    assert available(GPU)
    assert not available(CPU)
    with disabled():
        assert not available(GPU)
    assert available(GPU)


def test_methods_whose_steps_read_no_value_are_graph_safe():
    assert {"none", "joint", "owm", "gem", "fs-dgpm", "bic", "ari", "rps-net", "il2m", "pcl"} <= set(GRAPH_SAFE)
    assert "logd" not in GRAPH_SAFE  # it checks its inner products at every step
