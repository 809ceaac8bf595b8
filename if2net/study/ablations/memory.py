"""The most memory that tensors take at one time, on any device: what CUDA's allocator counts, also on a CPU."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class PeakMemory(TorchDispatchMode):
    """Counts the storage of every tensor that an operation is given or gives, until it is let go.

    >>> import torch
    >>> with PeakMemory() as memory:
    ...     a = torch.ones(1000)          # 4,000 bytes
    ...     b = a + 1                     # 4,000 more
    ...     del a, b
    ...     c = torch.ones(500)
    >>> memory.peak
    8000
    """

    def __init__(self) -> None:
        super().__init__()
        self.alive: dict[int, int] = {}
        self.peak = 0

    def __torch_dispatch__(self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        gave = function(*args, **given)
        for leaf in tree_leaves((args, given, gave)):
            if isinstance(leaf, Tensor):
                self._count(leaf.untyped_storage())
        return gave

    def _count(self, storage: UntypedStorage) -> None:
        place = storage._cdata
        if place not in self.alive:
            self.alive[place] = storage.nbytes()
            self.peak = max(self.peak, sum(self.alive.values()))
            weakref.finalize(storage, self.alive.pop, place)
