"""The connection to Ray: join a cluster, or start Ray on this machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from if2net.errors import ConfigurationError, IF2NetError
from if2net.extras import require

# Seconds to wait for a machine that does not answer.
PATIENCE = 10.0


def connect(address: str = "auto") -> None:
    """Join a Ray cluster, or start Ray on this machine.

    After `ray.init`, it is not needed and does nothing.

    Parameters
    ----------
    address : str, default="auto"
        The address of a cluster, such as ``"10.0.0.1:6379"``. With ``"auto"``, the cluster that runs on this machine
        is joined. If there is none, Ray is started on this machine and ends with the program.

    Notes
    -----
    A cluster that is joined keeps its settings. A Ray that is started here has no dashboard and no progress bars. Its
    logger ``ray.data`` shows critical messages only, because errors are raised as well. The environment variable
    RAY_USAGE_STATS_ENABLED is set to 0 unless it is set already, so that Ray sends no usage statistics.
    """
    ray = import_ray()
    if ray.is_initialized():
        return
    _check_answers(address)
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError) as error:
        if address != "auto":
            raise _no_answer(address, error) from error
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(address="local", include_dashboard=False, **quiet)
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)


def _check_answers(address: str) -> None:
    """Raise an error if no program answers at this address. Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # "auto", or an address that Ray will refuse
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise _no_answer(address, error) from error


def _no_answer(address: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"No Ray cluster answers at {address!r} ({error}); start one with `ray start --head`, or use 'auto'."
    )


@contextmanager
def unwrapped_errors() -> Iterator[None]:
    """Raise an error of a worker as it was raised there, without the text that Ray adds."""
    try:
        yield
    except import_ray().exceptions.RayTaskError as error:
        if isinstance(error.cause, IF2NetError):
            raise type(error.cause)(str(error.cause).partition("\n")[0]) from None
        raise


def import_ray() -> Any:
    """Import Ray and its datasets, which the extra `cluster` installs."""
    require("ray.data", "cluster", "Learning on a cluster needs Ray on every machine")
    return import_module("ray")
