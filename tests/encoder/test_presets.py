"""The presets of the encoder, and the settings that replace their values."""

import pytest
import torch

from if2net.encoder import PRESETS, Blocks, DenseEncoder, encoder_config
from if2net.encoder.presets import automatic_width


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_encodes_finite_features_of_its_width(preset):
    X = torch.rand(30, 12, generator=torch.Generator().manual_seed(0))
    width = 40 if PRESETS[preset].tweaked else None  # a tweak of 2,000 nodes takes seconds
    encoder = DenseEncoder(encoder_config(preset, 12, width=width), seed=0)
    encoder.start(X)
    V = encoder.encode(X, encoder.tweak([X]))
    assert V.shape == (30, encoder.width)
    assert bool(torch.isfinite(V).all())


def test_the_paper_presets_have_the_settings_of_the_paper():
    paper, other = PRESETS["paper"], PRESETS["paper-25x4"]
    assert [layer.width for layer in paper.layers] == [layer.width for layer in other.layers] == [100, 100, 2000]
    for config in (paper, other):
        assert (config.activation, config.distribution, config.scale) == ("tanh", "uniform", 1.0)
        assert (config.tweaked, config.strength) == (True, 0.01)
    assert {layer.nodes for layer in other.layers} == {4}


@pytest.mark.parametrize(
    ("inputs", "width"), [(1, 1000), (125, 1000), (200, 1600), (784, 6000), (2000, 6000), (8000, 192)]
)
def test_the_default_width_grows_with_the_inputs_until_they_take_its_place(inputs, width):
    assert automatic_width(inputs) == width
    assert encoder_config("wide", inputs).layers == (Blocks(width, 1),)


def test_the_default_layer_of_very_many_inputs_is_linear_unless_the_direct_link_is_left_out():
    assert encoder_config("wide", 50_000).layers == ()
    assert encoder_config("wide", 50_000, direct=False).layers == (Blocks(6000, 1),)
    assert encoder_config("wide", 50_000, width=20).layers == (Blocks(20, 1),)


@pytest.mark.parametrize(
    ("preset", "settings", "layers"),
    [
        ("wide", {"width": 300}, (Blocks(300, 1),)),
        ("paper", {"width": 55}, (Blocks(10, 10), Blocks(10, 10), Blocks(5, 10))),
        ("paper", {"width": 3}, (Blocks(10, 10), Blocks(10, 10), Blocks(1, 10))),
        ("paper", {"layers": "25x4, 300"}, (Blocks(25, 4), Blocks(300, 1))),
        ("linear", {"width": 300}, ()),
    ],
)
def test_width_and_layers_replace_those_of_the_preset(preset, settings, layers):
    assert encoder_config(preset, 8, **settings).layers == layers


def test_settings_replace_the_preset_and_none_keeps_it():
    config = encoder_config("paper", 8, activation="relu", strength=0.5, solver=None, tweaked=False)
    assert (config.activation, config.strength, config.tweaked) == ("relu", 0.5, False)
    assert config.solver == PRESETS["paper"].solver
