"""Small images, a small network, and a cache that nobody else uses."""

import numpy as np
import pytest
import torch
from PIL import Image

from if2net.backbone import Extractor, Network, Preprocessing
from if2net.data.images import Framing


@pytest.fixture(autouse=True)
def always_an_own_cache(own_cache):
    """For every test here."""


@pytest.fixture
def photographs(tmp_path):
    """Three classes of four images, told apart by their colour."""
    folder = tmp_path / "photographs"
    random = np.random.default_rng(0)
    for place, name in enumerate(["blue", "green", "red"]):
        (folder / name).mkdir(parents=True)
        for number in range(4):
            pixels = random.integers(0, 100, (40, 50, 3), dtype=np.uint8)
            pixels[:, :, 2 - place] += 150
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


@pytest.fixture
def small_module():
    """Makes a network of two convolutions, with a batch norm between them."""

    def make(seed=0):
        torch.manual_seed(seed)
        first, last = torch.nn.Conv2d(3, 4, 3, 2, bias=False), torch.nn.Conv2d(4, 6, 3, 2)
        module = torch.nn.Sequential(first, torch.nn.BatchNorm2d(4), torch.nn.ReLU(), last)
        module[1].running_mean.uniform_(-1, 1)
        module[1].running_var.uniform_(1, 2)
        return module.eval()

    return make


@pytest.fixture
def preprocessing():
    return Preprocessing(Framing(32, 28), (127.0,) * 3, (128.0,) * 3)


@pytest.fixture
def network(small_module, preprocessing):
    return Network("small", small_module(), preprocessing, taps=("2", "3"))


@pytest.fixture
def extractor(network):
    return Extractor(network)
