"""Which samples are held out for choosing the ridge: decided by their content alone.

The same sample is held out whenever and wherever it is learned, so that order, splitting, merging and forgetting
cannot change the result.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

BUCKETS = 1 << 20
# How many numbers are hashed at a time: on a CPU so many as stay in its cache.
PIECE = {"cpu": 1 << 19, "cuda": 1 << 25}


def held_out(X: Tensor, share: float) -> Tensor:
    """A mask over the rows of X that picks about this share of them by a hash of their bytes.

    >>> X = torch.randn(1000, 4)
    >>> mask = held_out(X, 0.1)
    >>> order = torch.randperm(1000)
    >>> torch.equal(held_out(X[order], 0.1), mask[order])
    True
    """
    if share <= 0:
        return torch.zeros(len(X), dtype=torch.bool, device=X.device)
    rows = min(len(X), max(1, PIECE[X.device.type] // max(1, X.shape[1])))
    hashes = _Hashes(rows, X)
    return torch.cat([hashes(part) < share * BUCKETS for part in X.split(max(1, rows))])


class _Hashes:
    """A hash of the bytes of every row. The room for it is taken once: to take it anew for each piece costs more."""

    def __init__(self, rows: int, X: Tensor) -> None:
        words = torch.int32 if X.dtype == torch.float32 else torch.int64
        self.multipliers = _odd_multipliers(X.shape[1], X.device)
        self.bits = X.new_empty(rows, X.shape[1]).view(words)
        self.shifted = torch.empty_like(self.bits)
        self.mixed = torch.empty_like(self.bits, dtype=torch.int64)

    def __call__(self, X: Tensor) -> Tensor:
        bits, shifted, mixed = (room[: len(X)] for room in (self.bits, self.shifted, self.mixed))
        torch.add(X, 0.0, out=bits.view(X.dtype))  # makes −0 and 0 the same
        torch.bitwise_right_shift(bits, 15, out=shifted)
        mixed.copy_(shifted.bitwise_xor_(bits))
        found = mixed.mul_(self.multipliers).sum(dim=1)
        found = (found ^ (found >> 31)) * 0x5851F42D4C957F2D
        return ((found >> 33) ^ found) & (BUCKETS - 1)


@lru_cache(maxsize=4)  # to copy them to a GPU for every block would be to wait for it
def _odd_multipliers(count: int, device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(20221225)
    return (torch.randint(1 << 62, (count,), generator=generator) * 2 + 1).to(device)
