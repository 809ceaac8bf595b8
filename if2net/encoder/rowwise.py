"""Computations whose result for a sample has the same bits alone and in any batch.

A matrix product may add up in another order when its shape changes, so one shape is used for all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.accelerate.products import Factor, product
from if2net.accelerate.streaming import Samples

ROWS = {"cpu": 128, "cuda": 8192}
COLUMNS = 16


def rowwise(function: Callable[[Tensor], Tensor], X: Samples) -> Tensor:
    """function(X) for a function of single rows, in blocks of one height, the last one padded.

    >>> rowwise(lambda block: block.sum(dim=1), torch.ones(300, 2)).shape
    torch.Size([300])
    """
    rows = ROWS[X.device.type]
    return torch.cat([function(_padded(block, rows))[: len(block)] for block in X.split(rows)])


def _padded(block: Tensor, rows: int) -> Tensor:
    """A block that is whole is not copied, as `pad` would."""
    return block if len(block) == rows else pad(block, (0, 0, 0, rows - len(block)))


class RowwiseFactor:
    """Weights for products VB whose rows have the same bits in any batch, made ready once.

    The columns are padded to a round number; a narrow product goes other ways for other rows.
    """

    def __init__(self, weights: Tensor) -> None:
        self.columns = weights.shape[1]
        self.factor = Factor(pad(weights, (0, -self.columns % COLUMNS)).contiguous())

    def __call__(self, V: Tensor) -> Tensor:
        return product(V, self.factor)[:, : self.columns]


def rowwise_product(V: Tensor, weights: Tensor) -> Tensor:
    return RowwiseFactor(weights)(V)
