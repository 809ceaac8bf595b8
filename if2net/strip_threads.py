"""Threads that share the strips of a matrix. Each computes its strips alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock, Thread

import torch
from threadpoolctl import threadpool_limits

# Does some work for each of these strips.
ForEach = Callable[[Callable[[slice], None], list[slice]], None]


@contextmanager
def strip_threads() -> Iterator[ForEach]:
    """Provide a function that does some work for each strip, in as many threads as torch has.

    Each thread takes the next strip when it is ready. torch's own threads share every product and wait for each other
    after it, which takes much longer where other programs use the processor. `ThreadPoolExecutor` refuses work
    once the main thread has ended, when other threads may still be learning.
    """
    jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
    threads: list[Thread] = []
    count = torch.get_num_threads()

    def for_each(work: Callable[[slice], None], strips: list[slice]) -> None:
        if not threads:
            for strip in strips:
                work(strip)
            return
        run = _Strips(work, strips)
        for _ in threads:
            jobs.put(run.take)
        for _ in threads:
            run.ended.get()
        if run.errors:
            raise run.errors[0]

    try:
        if count > 1:
            _start(threads, count, jobs)
        yield for_each
    finally:  # after an interrupt, too: no thread writes when this function has ended
        for _ in range(count):
            jobs.put(None)
        for thread in threads:
            thread.join()


class _Strips:
    """Strips that several threads work on. After an error, no further strip is begun."""

    def __init__(self, work: Callable[[slice], None], strips: list[slice]) -> None:
        self.work, self.left, self.lock = work, iter(strips), Lock()
        self.errors: list[BaseException] = []
        self.ended: SimpleQueue[None] = SimpleQueue()  # an entry per thread

    def take(self) -> None:
        try:
            while not self.errors and (strip := self._next()) is not None:
                self.work(strip)
        except BaseException as error:
            self.errors.append(error)
        finally:
            self.ended.put(None)

    def _next(self) -> slice | None:
        with self.lock:
            return next(self.left, None)


def _start(threads: list[Thread], count: int, jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    """Start this many threads, or as many as the system allows. Each runs jobs until it receives None."""

    def serve() -> None:
        torch.get_num_threads()  # torch sets up a thread at its first call, which would undo the limit
        threadpool_limits(1, user_api="openmp")  # OpenMP has one limit per calling thread
        while (job := jobs.get()) is not None:
            job()

    for _ in range(count):
        thread = Thread(target=serve, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the program ends, or it has as many threads as it may have
            break
        threads.append(thread)
