"""Two libraries share the cores here: torch, and the BLAS of SciPy. Each keeps its threads awake after its work.

They wait for more of it at full speed, in the way of the other's, which is felt where there are few cores.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache

# Of BLAS, which is loaded later and reads it then: its threads go to sleep at once.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

SOFT = 1  # omp_pause_soft: what OpenMP holds may go, what the program has stays


@cache
def _pause() -> Callable[[int], int]:
    try:
        return ctypes.CDLL("libgomp.so.1").omp_pause_resource_all  # the one that torch has loaded
    except (OSError, AttributeError):  # torch has another OpenMP, or none
        return lambda kind: 0


def let_torch_rest() -> None:
    """End the threads that torch keeps for this one; its next operation starts them again, in no time."""
    _pause()(SOFT)
