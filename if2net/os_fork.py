"""Processes made by `os.fork`, such as the workers of gunicorn.

A child is a copy of its parent's memory with only the thread that forked. A lock that another thread held would stay
locked there, and its change half done, so a fork waits until no learner is changing. If the forking thread is itself
changing a learner, for example because it forks to load data, it does not wait for other threads; learners that they
are changing become read-only in the child. The child has none of torch's worker threads and would wait for them
forever, so it computes with one thread.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

import torch

from if2net.errors import InputError

RLOCK = type(threading.RLock())


class Locked(Protocol):
    """An object that changes only while its lock is held."""

    _lock: threading.RLock


class _HalfChanged:
    """The lock of a learner that another thread was changing when this process was forked."""

    def __enter__(self) -> None:
        raise InputError(
            "This learner was changing when the process was forked. Fork between changes, or load the model in the "
            "new process."
        )

    def __exit__(self, *error: object) -> None: ...


class _Thread(threading.local):
    """The locks that a fork of this thread takes."""

    def __init__(self) -> None:
        self.held: list[threading.RLock] = []


_learners: weakref.WeakSet[Locked] = weakref.WeakSet()
_thread = _Thread()
_in_new_child = False


def delay_while_changing(learner: Locked) -> None:
    """Let every later fork of this process wait until the learner is not changing."""
    _learners.add(learner)


def use_one_thread_in_a_child() -> None:
    """Limit torch to one thread if this process was forked. Called where torch is used: elsewhere nothing changes."""
    global _in_new_child
    if _in_new_child:
        torch.set_num_threads(1)
        _in_new_child = False


def _hold() -> None:
    """Take the locks, in the order in which merging takes them: a fork and a merge cannot block each other.

    Python ignores Ctrl-C in this function, but stops it. Each lock is therefore noted before it is taken.
    """
    learners = [learner for learner in sorted(_learners, key=id) if isinstance(learner._lock, RLOCK)]
    others = [learner for learner in learners if not _is_owned(learner._lock)]
    changing = len(others) < len(learners)
    for learner in others:
        _thread.held.append(learner._lock)
        learner._lock.acquire(blocking=not changing)


def _release() -> None:
    try:
        _release_held()
    finally:
        _release_held()  # the rest, after Ctrl-C


def _release_held() -> None:
    while _thread.held:
        if _is_owned(_thread.held[-1]):
            _thread.held[-1].release()
        _thread.held.pop()


def _is_owned(lock: threading.RLock) -> bool:
    """Return whether this thread has the lock."""
    return lock._is_owned()  # type: ignore[attr-defined]


def _start_child() -> None:
    global _in_new_child
    _in_new_child = True
    _release()
    for learner in _learners:
        lock = learner._lock
        if not isinstance(lock, RLOCK) or _is_owned(lock):
            continue
        if lock.acquire(blocking=False):
            lock.release()
        else:  # a thread has it that does not exist here
            learner._lock = _HalfChanged()  # type: ignore[assignment]


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_start_child)
