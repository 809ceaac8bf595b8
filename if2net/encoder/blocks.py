"""Random node blocks: the weights W of a layer, drawn once and frozen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ConfigurationError


@dataclass(frozen=True)
class Blocks:
    """A layer of n groups with s nodes each; the paper writes (n, s).

    >>> Blocks(10, 10).width
    100
    """

    groups: int
    nodes: int

    def __post_init__(self) -> None:
        if self.groups < 1 or self.nodes < 1:
            raise ConfigurationError(f"A layer needs at least one block of one node, not {self.groups}x{self.nodes}.")

    @property
    def width(self) -> int:
        return self.groups * self.nodes

    @classmethod
    def parse(cls, text: str) -> Blocks:
        """Parse "10x10", or "2000" for 2,000 groups of one node.

        >>> Blocks.parse("25x4"), Blocks.parse("300")
        (Blocks(groups=25, nodes=4), Blocks(groups=300, nodes=1))
        """
        groups, _, nodes = text.strip().lower().partition("x")
        try:
            numbers = int(groups), int(nodes or 1)
        except ValueError as error:
            raise ConfigurationError(
                f"A layer is written GROUPSxNODES, like 10x10, or as a width, like 2000; {text!r} is neither."
            ) from error
        return cls(*numbers)


def random_blocks(
    inputs: int, blocks: Blocks, *, distribution: str, scale: float, generator: torch.Generator
) -> Tensor:
    """Draw [W; b] of one layer, (inputs + 1) × width, with the bias in the last row.

    "uniform" is the paper's U[-scale, scale]. "normal" divides the weights by √inputs, so that the response to
    standardised inputs has the same spread for any number of inputs; the biases have half that spread.
    """
    shape = (inputs + 1, blocks.width)
    if distribution == "uniform":
        return (torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1) * scale
    weights = torch.randn(shape, generator=generator, dtype=torch.float64)
    weights[:-1] *= scale / math.sqrt(inputs)
    weights[-1] *= 0.5
    return weights
