"""The fold of many inputs into fewer sums with random signs."""

import pytest
import torch

from if2net.encoder import DenseEncoder, encoder_config
from if2net.encoder.fold import Fold
from if2net.encoder.presets import MOST_INPUTS


@pytest.fixture
def fold():
    return Fold.draw(1000, 300, torch.Generator().manual_seed(0)).to(torch.zeros(1, dtype=torch.float64))


def test_each_input_is_part_of_one_sum_and_the_sums_have_one_size(fold):
    parts = fold(torch.eye(1000, dtype=torch.float64)) != 0
    assert bool((parts.sum(dim=1) == 1).all())
    assert set(parts.sum(dim=0).tolist()) == {3, 4}


def test_products_of_samples_keep_their_relative_size_on_average(fold):
    random = torch.Generator().manual_seed(1)
    one, other = torch.randn(2, 1000, dtype=torch.float64, generator=random)
    folds = [Fold.draw(1000, 300, random).to(one) for _ in range(200)]
    products = torch.stack([(each(one[None]) * each((one + other)[None])).sum() for each in folds])
    assert abs(float(products.mean() / (one @ (one + other))) - 0.3) < 0.01


def test_a_row_has_the_same_bits_in_any_batch(fold):
    X = torch.randn(50, 1000, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    assert torch.equal(fold(X)[7:8], fold(X[7:8]))


@pytest.mark.parametrize("inputs", [MOST_INPUTS - 100, MOST_INPUTS + 1, 3 * MOST_INPUTS])
def test_the_default_layer_is_bounded_and_restored_from_its_tensors(inputs):
    X = torch.rand(12, inputs, generator=torch.Generator().manual_seed(0))
    config = encoder_config("wide", inputs)
    encoder, again = DenseEncoder(config, seed=0), DenseEncoder(config, seed=0)
    encoder.start(X)
    again.restore(dict(encoder.tensors()))
    V = encoder.encode(X, [])
    assert V.shape == (12, MOST_INPUTS + 1)
    assert torch.equal(again.encode(X, []), V)
    specs = config.tensor_specs(inputs, X.dtype)
    assert {name: spec.shape for name, spec in specs.items()} == {
        name: tuple(tensor.shape) for name, tensor in encoder.tensors()
    }
