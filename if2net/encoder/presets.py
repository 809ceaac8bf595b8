"""The encoders by name."""

from __future__ import annotations

from dataclasses import replace

from if2net.encoder.blocks import Blocks
from if2net.encoder.dense import EncoderConfig

# The default encoder folds more inputs than this, and with its default width a layer has at most as many features and
# a constant: solving it takes seconds, and about 1 GB of memory. One feature less, and the ridge would be chosen on
# all of them (see `thinning`), which takes twice the time.
MOST_INPUTS = 8192

# The paper's three hidden layers, which need the task at test time to be accurate. The paper does not give the width
# of FC3; 2,000 was better than 1,000 on held-back training data (results/encoder/*-aware-width.json).
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
        layers=(),
        fold=MOST_INPUTS,
        follow=0.15,
        centre=True,
        direct=True,
        bias=True,
    ),
    "paper": PAPER,
    # The same with the paper's other blocks: 25 groups of 4 nodes.
    "paper-25x4": replace(PAPER, layers=(Blocks(25, 4), Blocks(25, 4), Blocks(500, 4))),
    # No hidden layer, for features in which a good backbone separates the classes linearly.
    "linear": EncoderConfig(layers=(), direct=True, bias=True),
}


def automatic_width(inputs: int, direct: bool = True) -> int:
    """Return the width of the default encoder: fast enough for images on two cores, light for small tables.

    With many inputs, the direct link leaves less room for it.

    >>> automatic_width(4), automatic_width(784), automatic_width(5000), automatic_width(10_000)
    (1000, 6000, 3192, 0)
    """
    return min(6000, max(1000, 8 * inputs), MOST_INPUTS - min(inputs, MOST_INPUTS) * direct)


def encoder_config(
    preset: str, inputs: int, *, width: int | None = None, layers: str | None = None, **overrides: object
) -> EncoderConfig:
    """Return the named encoder for this number of inputs, with other values where they are given."""
    config = PRESETS[preset]
    if layers is not None:
        config = replace(config, layers=tuple(Blocks.parse(part) for part in layers.split(",")))
    elif preset == "wide":
        width = width or automatic_width(inputs, overrides.get("direct") is not False)
        config = replace(config, layers=(Blocks(width, 1),) if width else (), centre=width > 0)
    elif width is not None and config.layers:
        last = config.layers[-1]
        config = replace(config, layers=(*config.layers[:-1], Blocks(max(1, width // last.nodes), last.nodes)))
    given = {name: value for name, value in overrides.items() if value is not None}
    return replace(config, **given)  # type: ignore[arg-type]
