"""The peak memory of tensors on any device: the number of CUDA's allocator, also for a CPU."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class PeakMemory(TorchDispatchMode):
    """Count the storage of every input and output of an operation until it is freed.

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
        outputs = function(*args, **(kwargs or {}))
        for leaf in tree_leaves((args, kwargs, outputs)):
            if isinstance(leaf, Tensor):
                self._count(leaf.untyped_storage())
        return outputs

    def _count(self, storage: UntypedStorage) -> None:
        place = storage._cdata
        if place not in self.alive:
            self.alive[place] = storage.nbytes()
            self.peak = max(self.peak, sum(self.alive.values()))
            weakref.finalize(storage, self.alive.pop, place)
