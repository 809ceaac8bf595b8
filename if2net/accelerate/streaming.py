"""Samples that stay in host memory and are seen block by block on a GPU, which copies one while it works on one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from if2net.errors import InputError
from if2net.inputs import Repeatable

# How many samples are copied at a time; fewer than that are copied at once and stay.
ROWS = 16_384


def worth_streaming(X: Tensor, device: torch.device) -> bool:
    return device.type == "cuda" and X.device.type == "cpu" and len(X) > ROWS


class Streamed:
    """Stands for a matrix of samples where nobody needs more than a block of it at a time.

    A block is there until the next one is asked for. Each is looked at on the way, without waiting for the answer:
    `looks_good` gives it as a tensor on the device, and `check` reads it when all blocks have gone by.

    >>> numbers, device = torch.arange(10).reshape(5, 2), torch.device("cpu")
    >>> X = Streamed(numbers, torch.float32, device, looks_good=lambda block: torch.isfinite(block).all())
    >>> [block.shape[0] for block in X.split(2)], X.shape
    ([2, 2, 1], torch.Size([5, 2]))
    """

    def __init__(
        self,
        source: Tensor,
        dtype: torch.dtype,
        device: torch.device,
        looks_good: Callable[[Tensor], Tensor],
        explain: Callable[[Tensor], object] = lambda part: None,
    ) -> None:
        self.source, self.dtype, self.device = source, dtype, device
        self.looks_good, self.explain = looks_good, explain
        self.good: Tensor | None = None  # known when all blocks have been looked at

    def __len__(self) -> int:
        return len(self.source)

    @property
    def shape(self) -> torch.Size:
        return self.source.shape

    def split(self, rows: int) -> Iterable[Tensor]:
        """Like a tensor's: blocks of so many rows, on the device, as often as they are gone over."""
        return Repeatable(lambda: self._blocks(rows))

    def check(self) -> None:
        """An error where any block was not good; `explain` says which, given the part of the source."""
        if self.good is None:
            for _ in self.split(ROWS):
                pass
        assert self.good is not None
        if not bool(self.good):
            for part in self.source.split(ROWS):
                self.explain(part)
            raise InputError("X changed while it was read; give a copy that nobody writes to.")

    def _blocks(self, rows: int) -> Iterator[Tensor]:
        good = torch.ones((), dtype=torch.bool, device=self.device)
        for copied in _copies(self.source, rows, self.device):
            block = copied.to(self.dtype)
            good = good & self.looks_good(block)
            yield block
        self.good = good


Samples = Tensor | Streamed


def check(X: Samples) -> None:
    """A tensor was checked when it was made."""
    if isinstance(X, Streamed):
        X.check()


class _Slot:
    """Room for one block on the device, and in memory that a GPU can copy from by itself where X is in none."""

    def __init__(self, X: Tensor, rows: int, device: torch.device) -> None:
        shape, module = (min(rows, len(X)), X.shape[1]), torch.get_device_module(device)
        self.there = torch.empty(shape, dtype=X.dtype, device=device)
        self.here: Tensor | None = None
        if not (X.is_pinned() and X.is_contiguous()):
            self.here = torch.empty(shape, dtype=X.dtype, pin_memory=device.type == "cuda")
        self.stream = module.stream
        self.copied, self.used = module.Event(), module.Event()

    def send(self, part: Tensor, copying: torch.cuda.Stream) -> None:
        if self.here is not None:
            self.copied.synchronize()  # what was here before must have left
            part = self.here[: len(part)].copy_(part)
        with self.stream(copying):
            copying.wait_event(self.used)
            self.there[: len(part)].copy_(part, non_blocking=True)
            self.copied.record(copying)


def _copies(X: Tensor, rows: int, device: torch.device) -> Iterator[Tensor]:
    """X on the device, in two slots that take turns: the copy into one runs beside the work on the other."""
    module = torch.get_device_module(device)
    copying, working = module.Stream(device), module.current_stream(device)
    slots = [_Slot(X, rows, device) for _ in range(2)]
    parts = X.split(rows)
    copying.wait_stream(working)  # a slot may be memory that was let go of and is still worked on
    try:
        slots[0].send(parts[0], copying)
        for place, part in enumerate(parts):
            if place + 1 < len(parts):
                slots[(place + 1) % 2].send(parts[place + 1], copying)
            slot = slots[place % 2]
            working.wait_event(slot.copied)
            yield slot.there[: len(part)]
            slot.used.record(working)
    finally:
        working.wait_stream(copying)  # before the slots are let go of
