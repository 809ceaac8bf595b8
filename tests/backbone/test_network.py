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


class Padded(torch.nn.Conv2d):
    """Pads as TensorFlow does: not always alike on both sides."""

    def __init__(self, padding, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.before = torch.nn.ZeroPad2d(padding)

    def forward(self, x):
        return super().forward(self.before(x))


@pytest.mark.parametrize(
    ("padding", "kernel"), [((0, 1, 0, 1), 3), ((1, 2, 1, 2), 5), ((2, 0, 1, 1), 3), ((1,) * 4, 3)]
)
def test_a_convolution_of_each_channel_pads_by_itself(padding, kernel):
    module = torch.nn.Sequential(Padded(padding, 3, 3, kernel, stride=2, groups=3), torch.nn.BatchNorm2d(3)).eval()
    quick = folded(module, IMAGES[:1])
    assert isinstance(quick[0].before, torch.nn.Identity)
    assert isinstance(quick[1], torch.nn.Identity)
    torch.testing.assert_close(quick(IMAGES), module(IMAGES), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("groups", "device"), [(1, "cpu"), (3, "meta")])
def test_a_kernel_is_not_widened_where_that_is_no_quicker(groups, device):
    module = torch.nn.Sequential(Padded((0, 1, 0, 1), 3, 3, 3, stride=2, groups=groups)).eval()
    quick = folded(module, IMAGES[:1].to(device))
    assert quick[0].weight.shape == module[0].weight.shape
    assert torch.equal(quick(IMAGES), module(IMAGES))


@pytest.mark.parametrize("layers", [[], [torch.nn.Flatten(), torch.nn.Linear(3 * 28 * 28, 2)]])
def test_a_convolution_that_would_not_pad_by_itself_is_left_as_it_is(layers):
    class Stubborn(Padded):
        def forward(self, x):
            return torch.nn.functional.conv2d(self.before(x), self.weight, self.bias, groups=3)

    module = torch.nn.Sequential(Stubborn((1, 1, 1, 1), 3, 3, 3, groups=3), *layers).eval()
    assert torch.equal(folded(module, IMAGES[:1])(IMAGES), module(IMAGES))


def test_a_convolution_before_a_batch_norm_gives_its_own_map(small_module, preprocessing):
    module = small_module()
    found = Network("small", module, preprocessing, taps=("0", "3")).maps(IMAGES, (1, 2))
    torch.testing.assert_close(found, [module[0](IMAGES), module(IMAGES)], rtol=1e-4, atol=1e-5)


def test_the_users_module_is_not_touched(small_module, preprocessing):
    module = small_module().train()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    Network("small", module, preprocessing).maps(IMAGES, (1,))
    assert module.training
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_a_tap_that_is_not_there_is_refused(small_module, preprocessing):
    with pytest.raises(ConfigurationError, match="no submodule 'head'"):
        Network("small", small_module(), preprocessing, taps=("head",))
