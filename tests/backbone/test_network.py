import pytest
import torch

from if2net.backbone import Network
from if2net.backbone.network import folded
from if2net.errors import ConfigurationError

IMAGES = torch.randn(2, 3, 28, 28, generator=torch.Generator().manual_seed(0))


def test_batch_norms_are_folded_and_the_numbers_stay(small_module):
    module = small_module()
    quick = folded(module, IMAGES[:1])
    assert isinstance(quick[1], torch.nn.Identity)
    torch.testing.assert_close(quick(IMAGES), module(IMAGES), rtol=1e-4, atol=1e-5)


def test_a_network_that_uses_them_in_another_order_is_left_as_it_is():
    class Before(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution, self.norm = torch.nn.Conv2d(3, 3, 3), torch.nn.BatchNorm2d(3)
            self.norm.running_mean += 1.0

        def forward(self, x):
            return self.convolution(self.norm(x))

    module = Before().eval()
    torch.testing.assert_close(folded(module, IMAGES[:1])(IMAGES), module(IMAGES))


def test_the_users_module_is_not_touched(small_module, preprocessing):
    module = small_module().train()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    Network("small", module, preprocessing).maps(IMAGES, (1,))
    assert module.training
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_a_tap_that_is_not_there_is_refused(small_module, preprocessing):
    with pytest.raises(ConfigurationError, match="no submodule 'head'"):
        Network("small", small_module(), preprocessing, taps=("head",))
