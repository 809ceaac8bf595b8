import pytest
import torch

from if2net.errors import ConfigurationError
from if2net.images.backbones.base import fingerprint
from if2net.images.backbones.network import Network, folded

IMAGES = torch.randn(2, 3, 28, 28, generator=torch.Generator().manual_seed(0))


def test_batch_norms_are_folded_without_changing_the_output(small_module):
    module = small_module()
    quick = folded(module, IMAGES[:1])
    assert isinstance(quick[1], torch.nn.Identity)
    torch.testing.assert_close(quick(IMAGES), module(IMAGES), rtol=1e-4, atol=1e-5)


def test_a_batch_norm_that_runs_before_its_convolution_is_not_folded():
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
    """Pads as TensorFlow does: not always equally on both sides."""

    def __init__(self, padding, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.before = torch.nn.ZeroPad2d(padding)

    def forward(self, x):
        return super().forward(self.before(x))


@pytest.mark.parametrize(
    ("padding", "kernel"), [((0, 1, 0, 1), 3), ((1, 2, 1, 2), 5), ((2, 0, 1, 1), 3), ((1,) * 4, 3)]
)
def test_a_depthwise_convolution_pads_by_itself(padding, kernel):
    module = torch.nn.Sequential(Padded(padding, 3, 3, kernel, stride=2, groups=3), torch.nn.BatchNorm2d(3)).eval()
    quick = folded(module, IMAGES[:1])
    assert isinstance(quick[0].before, torch.nn.Identity)
    assert isinstance(quick[1], torch.nn.Identity)
    torch.testing.assert_close(quick(IMAGES), module(IMAGES), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("groups", "device"), [(1, "cpu"), (3, "meta")])
def test_a_kernel_is_not_widened_where_that_would_not_be_faster(groups, device):
    module = torch.nn.Sequential(Padded((0, 1, 0, 1), 3, 3, 3, stride=2, groups=groups)).eval()
    quick = folded(module, IMAGES[:1].to(device))
    assert quick[0].weight.shape == module[0].weight.shape
    assert torch.equal(quick(IMAGES), module(IMAGES))


@pytest.mark.parametrize("layers", [[], [torch.nn.Flatten(), torch.nn.Linear(3 * 28 * 28, 2)]])
def test_a_convolution_that_ignores_its_own_padding_is_left_unchanged(layers):
    class Stubborn(Padded):
        def forward(self, x):
            return torch.nn.functional.conv2d(self.before(x), self.weight, self.bias, groups=3)

    module = torch.nn.Sequential(Stubborn((1, 1, 1, 1), 3, 3, 3, groups=3), *layers).eval()
    assert torch.equal(folded(module, IMAGES[:1])(IMAGES), module(IMAGES))


def test_a_tapped_convolution_before_a_batch_norm_gives_its_own_map(small_module, preprocessing):
    module = small_module()
    found = Network("small", module, preprocessing, taps=("0", "3")).maps(IMAGES, (1, 2))
    torch.testing.assert_close(found, [module[0](IMAGES), module(IMAGES)], rtol=1e-4, atol=1e-5)


def test_the_module_of_the_user_stays_unchanged(small_module, preprocessing):
    module = small_module().train()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    Network("small", module, preprocessing).maps(IMAGES, (1,))
    assert module.training
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_an_unknown_tap_is_refused(small_module, preprocessing):
    with pytest.raises(ConfigurationError, match="no submodule 'head'"):
        Network("small", small_module(), preprocessing, taps=("head",))


class Scaled(torch.nn.Module):
    """A module whose exponent is neither in its weights nor in its description."""

    def __init__(self, power):
        super().__init__()
        self.convolution, self.unused, self.power = torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(3, 4, 3), power
        self.load_state_dict({name: torch.ones_like(tensor) for name, tensor in self.state_dict().items()})

    def forward(self, x):
        return self.convolution(x) ** self.power


def test_the_fingerprint_changes_with_taps_layers_and_code_for_the_same_weights(small_module, preprocessing):
    module, other = small_module(), small_module()
    other[2] = torch.nn.ReLU6()
    networks = [(module, ("2",)), (module, ("3",)), (module, ("2", "3")), (other, ("3",)), (other, ("2",))]
    networks += [(Scaled(1), ()), (Scaled(2), ())]
    first, second = (
        [Network(name, module, preprocessing, taps).fingerprint for module, taps in networks]
        for name in ("mine", "again")
    )
    assert first == second
    assert len(set(first)) == len(networks)


def test_a_given_structure_replaces_the_trial_run(small_module, preprocessing):
    module = small_module()
    found = [Network("mine", module, preprocessing, structure=text).fingerprint for text in ("", "a", "b")]
    assert found[0] == fingerprint(module.state_dict())
    assert len(set(found)) == 3


class Returning(torch.nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, x):
        return self.output(x)


@pytest.mark.parametrize(
    ("module", "taps", "sentence"),
    [
        (Returning(lambda x: (x, 1)), (), "The output of mine is a tuple, not a tensor"),
        (Scaled(1), ("unused",), "does not reach the submodule 'unused' of mine"),
        (torch.nn.Linear(10, 4), (), r"mine cannot take images of 28×28 pixels \(mat1 and mat2 .* another size"),
    ],
)
def test_a_module_without_usable_maps_is_refused(module, taps, sentence, preprocessing):
    with pytest.raises(ConfigurationError, match=sentence):
        Network("mine", module, preprocessing, taps)
