"""As many threads as a computation on a CPU is worth.

torch's threads wait for each other after every loop. Beside other programs, one of them may not run for a while, and
the others wait for it. A small model then takes several times as long with two threads as with one
(`benchmarks/threads.py`). A limit holds for the thread that sets it, so other threads of the program keep theirs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import torch
from threadpoolctl import ThreadpoolController

T = TypeVar("T")

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
    before = [(library, library.get_num_threads()) for library in _openmp()]
    of_mkl = 0

    def restore() -> None:
        for library, threads in before:
            library.set_num_threads(threads)
        _set_for_mkl(of_mkl)

    try:
        for library, threads in before:
            library.set_num_threads(min(enough, threads))
        of_mkl = _set_for_mkl(enough)
        yield
    finally:
        try:
            restore()
        finally:
            restore()  # the rest, after Ctrl-C


@contextmanager
def beside(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Run `work` in another thread during a block. The block receives a function that returns its result.

    Where there is no other thread, that function is `work` itself.

    >>> with beside(lambda: 2 + 2) as result:
    ...     pass
    >>> result()
    4
    """
    if torch.get_num_threads() == 1:
        yield work
        return
    future: Future[T] = Future()

    def run() -> None:
        try:
            with enough_for(0):  # OpenMP ends the program where it may have no further thread
                future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    thread = Thread(target=run, daemon=True)
    result: Callable[[], T] = future.result
    try:
        try:
            thread.start()
        except RuntimeError:  # the program ends, or it has as many threads as it may have
            result = work
        yield result
    finally:
        if thread.ident is not None:  # it was started
            thread.join()


@cache
def _openmp() -> list[Any]:
    return ThreadpoolController().select(user_api="openmp").lib_controllers


def _set_for_mkl(threads: int) -> int:
    """Set the number of MKL's threads for this thread of the program, and return the former one. 0: as OpenMP's."""
    setter = _mkl_setter()
    return setter(threads) if setter else 0


@cache
def _mkl_setter() -> Callable[[int], int] | None:
    """Return the function of MKL in torch. After `torch.set_num_threads`, MKL does not ask OpenMP any more."""
    try:
        return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so")).MKL_Set_Num_Threads_Local
    except (OSError, AttributeError):  # another system, or another library in place of MKL
        return None
