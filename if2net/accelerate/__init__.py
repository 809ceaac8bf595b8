"""Code that only a GPU needs: products on tensor cores, copies from host memory, recorded training steps.

Callers check `available` first. `disabled` switches all of it off, to compare speed or results with plain torch:

>>> with disabled():
...     available(torch.device("cuda"))
False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_enabled = ContextVar("enabled", default=True)


def available(device: torch.device) -> bool:
    """Whether code for this device may take the accelerated path.

    The answer is the same for every GPU. A path that needs more, such as tensor cores, checks for that itself.
    """
    return device.type == "cuda" and _enabled.get()


@contextmanager
def disabled() -> Iterator[None]:
    """Run the block without acceleration. Other threads are not affected."""
    token = _enabled.set(False)
    try:
        yield
    finally:
        _enabled.reset(token)
