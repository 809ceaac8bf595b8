"""Samples that are read block by block.

A GPU reads long data in host memory so, copying the next block while it works on one. Sparse samples become dense so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from if2net.accelerate import available
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
        explain: Callable[[Tensor], object] = lambda part: None,
    ) -> None:
        self.source, self.dtype, self.device = source, dtype, device
        self.looks_good, self.explain = looks_good, explain
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
        """Raise an error if any block was not good. `explain` raises it, given the part of the source."""
        if self.good is None:
            for _ in self.split(block_rows(self, ROWS)):
                pass
        assert self.good is not None
        if not bool(self.good):
            for part in self.source.split(block_rows(self, ROWS)):
                self.explain(part)
            raise InputError("X changed while it was read; give a copy that does not change.")

    def _blocks(self, rows: int) -> Iterator[Tensor]:
        good = torch.ones((), dtype=torch.bool, device=self.device)
        source = self.source
        for copied in _copies(source, rows, self.device) if isinstance(source, Tensor) else source.split(rows):
            block = copied.to(self.device, self.dtype)
            good = good & self.looks_good(block)
            yield block
        self.good = good


Samples = Tensor | Streamed


def check(X: Samples) -> None:
    """Raise an error if streamed samples cannot be used. Tensors have been checked already."""
    if isinstance(X, Streamed):
        X.check()


class _Slot:
    """Memory for one block on the device, and pinned memory on the host where X itself is not pinned."""

    def __init__(self, X: Tensor, rows: int, device: torch.device) -> None:
        shape, module = (min(rows, len(X)), X.shape[1]), torch.get_device_module(device)
        self.on_device = torch.empty(shape, dtype=X.dtype, device=device)
        self.pinned: Tensor | None = None
        if not (X.is_pinned() and X.is_contiguous()):
            self.pinned = torch.empty(shape, dtype=X.dtype, pin_memory=device.type == "cuda")
        self.stream = module.stream
        self.copied, self.used = module.Event(), module.Event()

    def send(self, part: Tensor, copying: torch.cuda.Stream) -> None:
        if self.pinned is not None:
            self.copied.synchronize()  # the previous block must have been copied
            part = self.pinned[: len(part)].copy_(part)
        with self.stream(copying):
            copying.wait_event(self.used)
            self.on_device[: len(part)].copy_(part, non_blocking=True)
            self.copied.record(copying)


def _copies(X: Tensor, rows: int, device: torch.device) -> Iterator[Tensor]:
    """Yield X on the device, in two alternating slots: one is filled while the other is in use."""
    module = torch.get_device_module(device)
    copying, working = module.Stream(device), module.current_stream(device)
    slots = [_Slot(X, rows, device) for _ in range(2)]
    parts = X.split(rows)
    copying.wait_stream(working)  # a slot may reuse memory that earlier work still reads
    try:
        slots[0].send(parts[0], copying)
        for place, part in enumerate(parts):
            if place + 1 < len(parts):
                slots[(place + 1) % 2].send(parts[place + 1], copying)
            slot = slots[place % 2]
            working.wait_event(slot.copied)
            yield slot.on_device[: len(part)]
            slot.used.record(working)
    finally:
        working.wait_stream(copying)  # before the slots are released
