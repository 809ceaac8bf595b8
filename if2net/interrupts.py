"""Ctrl-C during a change to a learner: it takes effect when the change is complete."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block.

    Python raises KeyboardInterrupt between any two operations of the main thread. Inside this block it is raised
    at the end instead, so that two fields that belong together change together. The signal is left alone in other
    threads, which Python never interrupts, and where the program has a handler of its own or ignores the signal.
    Blocking the signal would not help: another thread would receive it, and Python would interrupt the main one.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if received:
            signal.raise_signal(signal.SIGINT)
