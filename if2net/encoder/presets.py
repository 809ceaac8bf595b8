"""The encoders by name."""

from __future__ import annotations

from dataclasses import replace

from if2net.encoder.blocks import Blocks
from if2net.encoder.dense import EncoderConfig
from if2net.errors import unknown

# The paper's three hidden layers, which need the task at test time to be accurate. The paper does not give the width
# of FC3; 2,000 was better than 1,000 on validation data (results/encoder/*-aware-width.json).
PAPER = EncoderConfig(
    layers=(Blocks(10, 10), Blocks(10, 10), Blocks(200, 10)),
    activation="tanh",
    distribution="uniform",
    tweaked=True,
    standardise="none",
)

PRESETS: dict[str, EncoderConfig] = {
    # The default, for any feature matrix: a direct link, and one wide random layer whose weights follow the spread of
    # the first data.
    "wide": EncoderConfig(
        layers=(), activation="relu", distribution="normal", follow=0.15, centre=True, direct=True, bias=True
    ),
    "paper": PAPER,
    # The same with the paper's other blocks: 25 groups of 4 nodes.
    "paper-25x4": replace(PAPER, layers=(Blocks(25, 4), Blocks(25, 4), Blocks(500, 4))),
    # No hidden layer, for features in which a good backbone separates the classes linearly.
    "linear": EncoderConfig(layers=(), direct=True, bias=True),
}


def automatic_width(inputs: int) -> int:
    """Return the width of the default encoder: fast enough for images on two cores, light for small tables.

    >>> automatic_width(4), automatic_width(784)
    (1000, 6000)
    """
    return max(1000, min(6000, 8 * inputs))


def encoder_config(
    preset: str, inputs: int, *, width: int | None = None, layers: str | None = None, **overrides: object
) -> EncoderConfig:
    """Return the named encoder for this number of inputs, with other values where they are given."""
    if preset not in PRESETS:
        raise unknown("encoder", preset, PRESETS)
    config = PRESETS[preset]
    if layers is not None:
        config = replace(config, layers=tuple(Blocks.parse(part) for part in layers.split(",")))
    elif preset == "wide":
        config = replace(config, layers=(Blocks(width or automatic_width(inputs), 1),))
    elif width is not None and config.layers:
        config = replace(config, layers=(*config.layers[:-1], _last_layer(config.layers[-1], width)))
    given = {name: value for name, value in overrides.items() if value is not None}
    return replace(config, **given)  # type: ignore[arg-type]


def _last_layer(blocks: Blocks, width: int) -> Blocks:
    return Blocks(max(1, width // blocks.nodes), blocks.nodes)
