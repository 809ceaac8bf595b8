"""torch's modes that a caller may have set. They must not change what a learner computes and keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

from if2net import os_fork
from if2net.full_precision import exact_products

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@contextmanager
def default_modes() -> Iterator[None]:
    """Disable autocast, lower precisions, inference mode and the recording of gradients for a block.

    Under autocast, a learner would add up rounded features, and samples that are forgotten without it would not be
    those that were learned. A tensor that is created in inference mode cannot be changed after it.
    """
    with (
        exact_products(),
        torch.inference_mode(mode=False),
        torch.no_grad(),  # `inference_mode(False)` enables gradients
        torch.autocast("cpu", enabled=False),
        torch.autocast("cuda", enabled=False),
    ):
        yield


def in_default_modes(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function with `default_modes` around it, and with one thread in a forked child.

    `default_modes` is a decorator itself, but it would put a frame of another package between ours, and warnings
    would point to that instead of the user's line.
    """

    @wraps(function)
    def inner(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        os_fork.use_one_thread_in_a_child()
        with default_modes():
            return function(*arguments, **options)

    return inner
