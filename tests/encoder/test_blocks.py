"""Layers of random blocks: their text form and their weights."""

import pytest
import torch

from if2net.encoder.blocks import Blocks, random_blocks
from if2net.errors import ConfigurationError


def draw(seed=0, *, inputs=9, blocks=None, distribution="uniform", scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return random_blocks(
        inputs, blocks or Blocks(10, 10), distribution=distribution, scale=scale, generator=generator
    )


@pytest.mark.parametrize(
    ("text", "blocks"), [("10x10", Blocks(10, 10)), (" 25X4 ", Blocks(25, 4)), ("300", Blocks(300, 1))]
)
def test_a_layer_is_parsed_from_text(text, blocks):
    assert Blocks.parse(text) == blocks


@pytest.mark.parametrize("text", ["", "x10", "ten", "10x10x10", "2.5", "0x4", "4x0", "-3"])
def test_text_that_is_not_a_layer_is_refused(text):
    with pytest.raises(ConfigurationError, match=r"layer .*\.$"):
        Blocks.parse(text)


@pytest.mark.parametrize(("groups", "nodes"), [(0, 1), (1, 0), (-1, 5)])
def test_a_layer_without_nodes_is_refused(groups, nodes):
    with pytest.raises(ConfigurationError, match=f"at least one block of one node, not {groups}x{nodes}"):
        Blocks(groups, nodes)


@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_weights_have_one_row_per_input_and_one_for_the_bias(distribution):
    assert draw(inputs=7, blocks=Blocks(25, 4), distribution=distribution).shape == (8, 100)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_uniform_weights_fill_their_range(scale):
    weights = draw(inputs=50, scale=scale)
    assert 0.95 * scale < weights.abs().max() <= scale
    assert weights.mean().abs() < 0.05 * scale


@pytest.mark.parametrize("inputs", [4, 400])
def test_normal_weights_give_responses_of_the_same_spread_for_any_number_of_inputs(inputs):
    weights = draw(inputs=inputs, blocks=Blocks(500, 1), distribution="normal", scale=2.0)
    samples = torch.randn(300, inputs, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert float((samples @ weights[:-1]).std()) == pytest.approx(2.0, rel=0.15)
    assert float(weights[-1].std()) == pytest.approx(0.5, rel=0.15)


def test_the_seed_determines_the_weights():
    assert torch.equal(draw(seed=3), draw(seed=3))
    assert not torch.equal(draw(seed=3), draw(seed=4))
