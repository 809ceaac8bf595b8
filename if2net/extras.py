"""Packages that only some parts of if2net need, and that its extras install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from if2net.errors import ConfigurationError


def require(module: str, extra: str, need: str) -> Any:
    """Import a module of the package that an extra of if2net installs, or raise an error that says how to install it.

    >>> require("no_such_module", "tables", "Reading tables needs it")
    Traceback (most recent call last):
    if2net.errors.ConfigurationError: Reading tables needs it; run `pip install 'if2net[tables]'`.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigurationError(f"{need}; run `pip install 'if2net[{extra}]'`.") from error
