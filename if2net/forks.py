"""Processes made by `os.fork`, such as the workers of gunicorn.

A child is a copy of its parent's memory with one of its threads. Two things would go wrong there. A lock that another
thread held stays locked for ever, and its change stays half done: so a fork waits until no learner is changing. And
torch's threads are gone, but torch waits for them: so a child computes with one thread.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from typing import Protocol

import torch


class Locked(Protocol):
    """An object that changes only while its lock is held."""

    _lock: threading.RLock


_guarded: weakref.WeakSet[Locked] = weakref.WeakSet()
_held: list[threading.RLock] = []
_in_new_child = False


def guard(learner: Locked) -> None:
    """Let forks wait for the changes of a learner."""
    _guarded.add(learner)


def use_one_thread_in_a_child() -> None:
    """Limit torch to one thread if this process was forked. Called where torch is used: elsewhere nothing changes."""
    global _in_new_child
    if _in_new_child:
        torch.set_num_threads(1)
        _in_new_child = False


def _locks() -> Iterator[threading.RLock]:
    """Yield the locks in the order in which merging takes them: a fork and a merge cannot block each other."""
    for learner in sorted(_guarded, key=id):
        yield learner._lock


def _hold() -> None:
    for lock in _locks():
        lock.acquire()
        _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().release()


def _start_child() -> None:
    global _in_new_child
    _in_new_child = True
    _release()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_start_child)
