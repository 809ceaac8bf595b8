"""Selection of the held-out samples, on which the ridge is chosen.

A hash of its content decides whether a sample is held out. The same sample is held out whenever and wherever it is
learned, so order, splitting, merging and forgetting do not change the result.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

BUCKETS = 1 << 20
# Numbers hashed at a time: on a CPU as many as fit into its cache.
PIECE = {"cpu": 1 << 19, "cuda": 1 << 25}


def content_hashes(X: Tensor) -> Tensor:
    """Return a 64-bit hash of the bytes of each row."""
    rows = max(1, min(len(X), PIECE[X.device.type] // max(1, X.shape[1])))
    multipliers = _odd_multipliers(X.shape[1], X.device)
    # The buffers are allocated once, since allocating them per piece costs more.
    words = X.new_empty(rows, X.shape[1]).view(torch.int32 if X.dtype == torch.float32 else torch.int64)
    buffers = words, torch.empty_like(words), torch.empty_like(words, dtype=torch.int64)
    hashes = []
    for piece in X.split(rows):
        bits, shifted, mixed = (buffer[: len(piece)] for buffer in buffers)
        torch.add(piece, 0.0, out=bits.view(X.dtype))  # makes −0 and 0 equal
        torch.bitwise_right_shift(bits, 15, out=shifted)
        mixed.copy_(shifted.bitwise_xor_(bits))
        sums = mixed.mul_(multipliers).sum(dim=1)
        sums = (sums ^ (sums >> 31)) * 0x5851F42D4C957F2D
        hashes.append((sums >> 33) ^ sums)
    return torch.cat(hashes)


def held_out(contents: Tensor, share: float) -> Tensor:
    """Return a mask that selects about this share of the samples, given their `content_hashes`.

    >>> X = torch.randn(1000, 4)
    >>> mask = held_out(content_hashes(X), 0.1)
    >>> order = torch.randperm(1000)
    >>> torch.equal(held_out(content_hashes(X[order]), 0.1), mask[order])
    True
    """
    return (contents & (BUCKETS - 1)) < math.ceil(share * BUCKETS)  # a float would take torch's default type


@lru_cache(maxsize=4)  # copying them to a GPU for each block would make the host wait
def _odd_multipliers(count: int, device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(20221225)
    return (torch.randint(1 << 62, (count,), generator=generator) * 2 + 1).to(device)
