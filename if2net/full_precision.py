"""float32 products in full precision, whatever the process has set.

`torch.set_float32_matmul_precision("medium")` and the `fp32_precision` of torch's backends let products and
convolutions round their inputs to bfloat16 or TF32. Samples that are forgotten without such a switch would not be
those that were learned with it. The switches are those of the process, not of a thread: the first thread in a block
changes them, and the last one restores them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch

EXACT = ("none", "ieee")  # "none" is torch's default: full precision, except for convolutions on a GPU
Restore = Callable[[], None]


class _Switch:
    """A change of the process that lasts while any thread is in one of its blocks."""

    def __init__(self, change: Callable[[], Restore]) -> None:
        self.lock = threading.Lock()  # held for moments only; a fork takes it last (`if2net/os_fork.py`)
        self._change = change
        self._inside = 0
        self._of_thread = threading.local()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self.lock:
            if self._inside == 0:
                self._restore = self._change()
            self._inside += 1
            self._of_thread.depth = self._depth() + 1

    def _leave(self) -> None:
        with self.lock:
            self._of_thread.depth -= 1
            self._inside -= 1
            if self._inside == 0:
                self._restore()

    def _depth(self) -> int:
        return getattr(self._of_thread, "depth", 0)

    def start_child(self) -> None:
        """Leave the blocks of all threads but the one that forked: a child has no other."""
        if self._inside and not self._depth():
            self._restore()
        self._inside = self._depth()


def _exact_products() -> Restore:
    matmul, mkldnn = _matmul_precision(), cast(Any, torch.backends.mkldnn)
    backends = [mkldnn.matmul, mkldnn.conv, torch.backends.cuda.matmul]
    rounding = [(backend, backend.fp32_precision) for backend in backends if backend.fp32_precision not in EXACT]
    if rounding and matmul not in (None, "highest"):
        torch.set_float32_matmul_precision("highest")  # otherwise torch would find its older switch to contradict
    for backend, _ in rounding:
        backend.fp32_precision = "ieee"

    def restore() -> None:
        if rounding and matmul not in (None, "highest"):
            torch.set_float32_matmul_precision(matmul)
        for backend, precision in rounding:
            _restore_precision(backend, precision)

    return restore


def _exact_convolutions_on_a_gpu() -> Restore:
    cudnn: Any = torch.backends.cudnn
    if not cudnn.is_available():
        return lambda: None
    names = ("enabled", "benchmark", "deterministic")
    flags, precision, tf32 = [getattr(cudnn, name) for name in names], cudnn.conv.fp32_precision, _allows_tf32()
    cudnn.enabled, cudnn.benchmark, cudnn.deterministic = True, False, True
    if tf32:
        cudnn.allow_tf32 = False  # the older switch, for the same reason
    cudnn.conv.fp32_precision = "ieee"

    def restore() -> None:
        for name, value in zip(names, flags, strict=True):
            setattr(cudnn, name, value)
        if tf32:
            cudnn.allow_tf32 = True
        _restore_precision(cudnn.conv, precision)

    return restore


def _restore_precision(backend: Any, precision: str) -> None:
    """Set a precision again, as inherited where it was."""
    backend.fp32_precision = "none"
    if backend.fp32_precision != precision:
        backend.fp32_precision = precision


def _matmul_precision() -> str | None:
    """Return torch's older switch, or None where it cannot be read, because the newer ones contradict it."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def _allows_tf32() -> bool:
    try:
        return bool(torch.backends.cudnn.allow_tf32)
    except RuntimeError:
        return False


exact_products = _Switch(_exact_products)
exact_convolutions_on_a_gpu = _Switch(_exact_convolutions_on_a_gpu)
SWITCHES = (exact_products, exact_convolutions_on_a_gpu)
