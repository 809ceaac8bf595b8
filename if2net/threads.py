"""As many threads as a computation on a CPU is worth.

torch's threads wait for each other after every loop. Beside other programs, one of them may not run for several
milliseconds, and the others wait for it. A small model then takes many times as long with two threads as with one
(`benchmarks/threads.py`). A limit holds for the thread that sets it, so other threads of the program keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from threadpoolctl import ThreadpoolController

# Floating-point operations between two waits that are worth a thread: about a millisecond.
WORTH = 5e7


@contextmanager
def enough_for(operations: float, loops: int = 1) -> Iterator[None]:
    """Limit the threads of a block that makes this many floating-point operations, in this many loops.

    >>> with enough_for(1000):
    ...     torch.get_num_threads()
    1
    """
    most = torch.get_num_threads()  # torch sets up a thread at its first call, which would undo the limit
    enough = max(1, int(operations / loops / WORTH))
    if enough >= most:
        yield
        return
    with _openmp().limit(limits=enough):
        yield


@cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="openmp")
