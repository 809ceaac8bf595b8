"""The network's features: folding changes nothing, and pictures of other forms are handled or refused."""

import pytest
import torch

from if2net.encoder.innate.network import Network, fold
from if2net.encoder.innate.training import SIZES
from if2net.errors import InputError


@pytest.fixture(scope="module")
def network(plan):
    torch.manual_seed(0)
    network = Network(plan).train()
    for _ in range(20):  # statistics of normalisation that are not those of the start
        network(torch.rand(8, 3, 16, 16) ** 2)
    return network.eval()


def test_folding_the_normalisation_keeps_the_features(network):
    pictures = torch.rand(5, 3, 20, 14)
    folded = fold(network)
    torch.testing.assert_close(folded.features(pictures), network.features(pictures), rtol=1e-4, atol=1e-5)
    assert not folded.training
    assert not any(values.requires_grad for values in folded.parameters())
    assert folded.stages[1][0].first.kernel.weight.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (5, 9), (28, 28), (33, 40)])
def test_pictures_have_any_size(network, plan, height, width):
    features = network.features(torch.rand(2, 3, height, width))
    assert features.shape == (2, plan.features) == (2, 4 * 9 + 6 * 4 + 8)
    assert features.isfinite().all()


def test_bytes_and_grey_pictures_give_the_same_features_as_numbers_and_colours(network):
    pictures = torch.randint(0, 256, (3, 1, 12, 12), dtype=torch.uint8)
    expected = network.features((pictures / 255).repeat(1, 3, 1, 1))
    assert torch.equal(network.features(pictures), expected)


@pytest.mark.parametrize(
    ("pictures", "reason"),
    [
        (torch.rand(3, 12, 12), "shape"),
        (torch.rand(1, 4, 12, 12), "shape"),
        (torch.rand(0, 3, 12, 12), "shape"),
        (torch.ones(1, 3, 12, 12, dtype=torch.int64), "uint8"),
        (torch.full((1, 3, 12, 12), 255.0), "from 0 to 1"),
        (torch.full((1, 3, 12, 12), torch.nan), "from 0 to 1"),
    ],
)
def test_other_pictures_are_refused(network, pictures, reason):
    with pytest.raises(InputError, match=reason):
        network.features(pictures)


@pytest.mark.parametrize(("size", "most"), [("small", 10e6), ("large", 25e6)])
def test_the_sizes_fit_their_room_in_float16(size, most):
    with torch.device("meta"):
        network = Network(SIZES[size][0], folded=True)
    assert 2 * sum(values.numel() for values in network.parameters()) < most
