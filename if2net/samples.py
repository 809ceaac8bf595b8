"""Samples on their way through a learner: a tensor, or a matrix that is read block by block.

Sparse rows are read by blocks because each block becomes dense by itself. On a GPU, so is long data in host memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from if2net.accelerate import available
from if2net.accelerate.streaming import copies
from if2net.errors import InputError
from if2net.inputs import Repeatable
from if2net.sparse_rows import BLOCK, SparseRows

# Samples copied at a time. Data of at most this many samples is copied at once and stays on the GPU.
ROWS = 16_384


def worth_streaming(X: Tensor | SparseRows, device: torch.device) -> bool:
    """Return whether X is sparse, or in host memory and too long to be copied to the GPU at once."""
    if isinstance(X, SparseRows):
        return True
    return available(device) and X.device.type == "cpu" and len(X) > ROWS


def block_rows(X: Samples, most: int, numbers: int = BLOCK) -> int:
    """Return the number of rows of a block: fewer than `most` if sparse samples would take too much memory."""
    if isinstance(X, Streamed) and isinstance(X.source, SparseRows):
        return min(most, max(1, numbers // X.shape[1]))
    return most


class Streamed:
    """A matrix of samples that is only read block by block.

    A block is valid until the next one is requested. Each is checked asynchronously: `looks_good` returns the
    result as a tensor on the device, and `check` reads it after the last block.

    >>> numbers, device = torch.arange(10).reshape(5, 2), torch.device("cpu")
    >>> X = Streamed(numbers, torch.float32, device, looks_good=lambda block: torch.isfinite(block).all())
    >>> [block.shape[0] for block in X.split(2)], X.shape
    ([2, 2, 1], torch.Size([5, 2]))
    """

    def __init__(
        self,
        source: Tensor | SparseRows,
        dtype: torch.dtype,
        device: torch.device,
        looks_good: Callable[[Tensor], Tensor],
        checked: Callable[[Tensor], Tensor] = lambda part: part,
    ) -> None:
        self.source, self.dtype, self.device = source, dtype, device
        self.looks_good = looks_good
        self.checked = checked  # from a part of the source to a tensor on the device, or to an error
        self.good: Tensor | None = None  # known when all blocks have been checked

    def __len__(self) -> int:
        return len(self.source)

    @property
    def shape(self) -> torch.Size:
        return self.source.shape

    def split(self, rows: int) -> Iterable[Tensor]:
        """Return an iterable over blocks of `rows` rows on the device, which can be iterated over repeatedly."""
        return Repeatable(lambda: self._blocks(rows))

    def check(self) -> None:
        """Raise an error if any block was not good. `checked` raises it, given the part of the source."""
        if self.good is None:
            for _ in self.split(block_rows(self, ROWS)):
                pass
        assert self.good is not None
        if not bool(self.good):
            for part in self.source.split(block_rows(self, ROWS)):
                self.checked(part)
            raise InputError("X changed while it was read; give a copy that does not change.")

    def _blocks(self, rows: int) -> Iterator[Tensor]:
        good = torch.ones((), dtype=torch.bool, device=self.device)
        source = self.source
        for copied in copies(source, rows, self.device) if isinstance(source, Tensor) else source.split(rows):
            block = copied.to(self.device, self.dtype)
            good = good & self.looks_good(block)
            yield block
        self.good = good


Samples = Tensor | Streamed


def also_checked(X: Samples, looks_good: Callable[[Tensor], Tensor], check: Callable[[Tensor], None]) -> Samples:
    """Return samples with a further check: a tensor is checked at once, and streamed blocks on their way."""
    if isinstance(X, Tensor):
        check(X)
        return X

    def both_look_good(block: Tensor) -> Tensor:
        return X.looks_good(block) & looks_good(block)

    def checked(part: Tensor) -> Tensor:
        block = X.checked(part)
        check(block)
        return block

    return Streamed(X.source, X.dtype, X.device, both_look_good, checked)


def finish_checks(X: Samples) -> None:
    """Raise an error if streamed samples cannot be used. Tensors have been checked already."""
    if isinstance(X, Streamed):
        X.check()
