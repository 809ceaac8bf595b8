"""Finding a Ray cluster, or starting one on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from if2net.errors import ConfigurationError, IF2NetError
from if2net.extras import require


def connect(address: str = "auto") -> None:
    """Join the Ray cluster at this address; `auto` joins the one that runs here, or starts Ray on this machine.

    A program that has called `ray.init` already does not need this.
    """
    ray = imported_ray()
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless the user wants it
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError) as error:
        if address != "auto":
            raise ConfigurationError(
                f"No Ray cluster answers at {address!r} ({error}); start one with `ray start --head`, or use auto."
            ) from error
        ray.init(address="local", include_dashboard=False, **quiet)
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # an error is raised as well


@contextmanager
def raised_here() -> Iterator[None]:
    """What a worker finds wrong with the data is raised here as it was there, without Ray's words around it."""
    try:
        yield
    except imported_ray().exceptions.RayTaskError as error:
        if isinstance(error.cause, IF2NetError):
            raise type(error.cause)(str(error.cause).partition("\n")[0]) from None
        raise


def imported_ray() -> Any:
    """Import Ray with its data sets, an extra."""
    require("ray.data", "cluster", "A cluster needs Ray on every machine")
    return import_module("ray")
