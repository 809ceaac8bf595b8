"""Computations whose result for a sample has the same bits in any batch.

A matrix product may sum in another order when its shape changes, so all products have one shape.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.accelerate.products import Factor, product
from if2net.samples import Samples

ROWS = {"cpu": 128, "cuda": 8192}
COLUMNS = 16


def rowwise(function: Callable[[Tensor], Tensor], X: Samples) -> Tensor:
    """Return function(X) for a function that maps each row by itself, in blocks of one height, the last one padded.

    >>> rowwise(lambda block: block.sum(dim=1), torch.ones(300, 2)).shape
    torch.Size([300])
    """
    rows = ROWS[X.device.type]
    return torch.cat([function(_padded(block, rows))[: len(block)] for block in X.split(rows)])


def _padded(block: Tensor, rows: int) -> Tensor:
    """Pad a block to full height. A full block is not copied, as `pad` would."""
    return block if len(block) == rows else pad(block, (0, 0, 0, rows - len(block)))


class RowwiseFactor:
    """The right factor of products VB whose rows have the same bits in any batch, prepared once.

    The columns are padded to a round number, since narrow products take other code paths for other rows.
    """

    def __init__(self, weights: Tensor) -> None:
        self.columns = weights.shape[1]
        self.factor = Factor(pad(weights, (0, -self.columns % COLUMNS)).contiguous())

    def __call__(self, V: Tensor) -> Tensor:
        return product(V, self.factor)[:, : self.columns]


def rowwise_product(V: Tensor, weights: Tensor) -> Tensor:
    return RowwiseFactor(weights)(V)
