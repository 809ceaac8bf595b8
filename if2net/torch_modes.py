"""torch's modes that a caller may have set. They must not change what a learner computes and keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

from if2net import os_fork
from if2net.errors import ConfigurationError

# Of `fp32_precision`. "none" is torch's default: full precision, except for convolutions on a GPU.
FULL_PRECISION = ("none", "ieee")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@contextmanager
def default_modes() -> Iterator[None]:
    """Disable autocast, inference mode, the recording of gradients and another default device for a block.

    Under autocast, a learner would add up rounded features, and samples that are forgotten without it would not be
    those that were learned. A tensor that is created in inference mode cannot be changed after it.
    """
    with (
        _default_device(),
        torch.inference_mode(mode=False),
        torch.no_grad(),  # `inference_mode(False)` enables gradients
        torch.autocast("cpu", enabled=False),
        torch.autocast("cuda", enabled=False),
    ):
        yield


def _default_device() -> AbstractContextManager[Any]:
    """Return a block in which new tensors are on the CPU by default; an empty one, which is faster, if they are."""
    cpu = torch.device("cpu")
    return nullcontext() if torch.get_default_device() == cpu else cpu


def check_precision(device: torch.device) -> None:
    """Raise an error where torch rounds the inputs of float32 products to bfloat16 or TF32.

    Samples that are forgotten with full precision would not be those that were learned without it. These switches
    are those of the process, so that switching them off for a moment would change what other threads compute.
    """
    backends: Any = torch.backends
    gpu = device.type == "cuda"
    used = [backends.cuda.matmul] if gpu else [backends.mkldnn.matmul, backends.mkldnn.conv]
    rounded = [backend.fp32_precision for backend in used if backend.fp32_precision not in FULL_PRECISION]
    if rounded:
        raise ConfigurationError(
            f"torch computes float32 products in {rounded[0]} in this process, which is not exact enough to learn, "
            "to forget, or to solve for the output weights. Call torch.set_float32_matmul_precision('highest'), and "
            "set torch.backends.fp32_precision = 'ieee' if you have changed it. You can change both back after the "
            "first prediction, which solves."
        )


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
