"""Compiling for a GPU, so that a repeated training gives the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

# By default, the compiler times several kernels and keeps the fastest. Which one that is differs from one time to the
# next, and they round differently, even if they sum nothing: the pixels of the drawings had other last bits.
OPTIONS: dict[str, Any] = {"deterministic": True, "triton.autotune_pointwise": False}


def repeatable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with kernels that are not chosen by timing."""
    return torch.compile(function, options=OPTIONS)
