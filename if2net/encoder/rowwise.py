"""Computations whose result for a sample has the same bits alone and in any batch.

A matrix product may add up in another order when its shape changes, so one shape is used for all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.products import product
from if2net.streamed import Samples

ROWS = {"cpu": 128, "cuda": 8192}
COLUMNS = 16


def rowwise(function: Callable[[Tensor], Tensor], X: Samples) -> Tensor:
    """function(X) for a function of single rows, in blocks of one height, the last one padded.

    >>> rowwise(lambda block: block.sum(dim=1), torch.ones(300, 2)).shape
    torch.Size([300])
    """
    rows = ROWS[X.device.type]
    found = [function(pad(block, (0, 0, 0, rows - len(block))))[: len(block)] for block in X.split(rows)]
    return torch.cat(found)


def rowwise_product(V: Tensor, weights: Tensor) -> Tensor:
    """V @ weights with the columns padded to a round number; a narrow product goes other ways for other rows."""
    classes = weights.shape[1]
    return product(V, pad(weights, (0, -classes % COLUMNS)).contiguous())[:, :classes]
