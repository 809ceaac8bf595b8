import numpy as np
import pytest
import torch

from if2net.study.methods import METHODS
from if2net.study.methods.trainer import Trainer

REPLAYED = [name for name, kind in METHODS.items() if issubclass(kind, Trainer) and kind.replays]


def learned(name, device, replays):
    """The scores after three tasks. Batches of 40 of 100 samples: the last of an epoch is a smaller one."""
    kind = type(name, (METHODS[name],), {"replays": replays})
    method = kind(12, 0, torch.device(device), kind.Settings(batch_size=40, epochs=4, steps=0))
    random = np.random.default_rng(0)
    for task in range(3):
        y = np.arange(100) % 2 + 2 * task
        X = (random.normal(size=(100, 12)) + 2 * np.eye(12)[y]).astype(np.float32)
        method.learn(X, y)
    return method.scores(torch.from_numpy(X).to(device)).detach().cpu()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
@pytest.mark.parametrize("name", REPLAYED)
def test_replayed_steps_are_the_steps(name):
    replayed, plain = (learned(name, "cuda", replays) for replays in (True, False))
    torch.testing.assert_close(replayed, plain, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", REPLAYED)
def test_on_a_cpu_nothing_is_replayed(name):
    torch.testing.assert_close(learned(name, "cpu", True), learned(name, "cpu", False), rtol=0, atol=0)


def test_methods_with_a_step_of_fixed_shape_are_replayed():
    assert {"none", "joint", "owm", "gem", "fs-dgpm", "bic", "ari", "rps-net", "il2m", "pcl"} <= set(REPLAYED)
    assert "logd" not in REPLAYED  # its eigenvectors are waited for
