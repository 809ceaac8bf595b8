"""Long data in host memory, copied to a GPU block by block: the next block while the GPU works on one."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor


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


def copies(X: Tensor, rows: int, device: torch.device) -> Iterator[Tensor]:
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
