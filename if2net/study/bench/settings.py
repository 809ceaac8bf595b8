"""Settings of methods from defaults, a TOML file and the command line, in rising priority."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from if2net.config import convert
from if2net.errors import ConfigurationError, check_once, unknown
from if2net.files import read_bytes
from if2net.study.methods import METHODS

Setting = tuple[str | None, str, Any]  # method (None: all that have the key), key and value
Given = list[Setting]


def resolve(methods: Iterable[str], protocol: str, given: Given) -> dict[str, Any]:
    """Return the settings of each method. A key that no method has is an error."""
    resolved = {}
    names = list(methods)
    for name in names:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
    for scope, key, _ in given:
        if scope is not None and scope not in names:
            raise ConfigurationError(
                f"{scope}.{key} is set, but {scope} is not among the methods to run; add the method or leave it out."
            )
        if not any(key in _types(name) for name in names if scope in (None, name)):
            known = {setting for name in names for setting in _types(name)}
            if not known:
                raise ConfigurationError(f"{' and '.join(names)} have no settings; leave {key} out.")
            raise unknown("setting", key, known)
    for name in names:
        kind = METHODS[name].Settings
        values = METHODS[name].defaults(protocol)
        for scope, key, value in given:
            if scope in (None, name) and key in _types(name):
                values[key] = convert(key, value, _types(name)[key])
        resolved[name] = kind(**values)
    return resolved


def from_command_line(pairs: Iterable[str]) -> Given:
    """Read key=value or method.key=value.

    >>> from_command_line(["width=2000", "if2net-ewc.epochs=3"])
    [(None, 'width', '2000'), ('if2net-ewc', 'epochs', '3')]
    """
    given: Given = []
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise ConfigurationError(f"A setting is written key=value or method.key=value, not {pair!r}.")
        scope, dot, name = key.rpartition(".")
        given.append((scope if dot else None, name, value))
    check_once("setting", [f"{scope}.{name}" if scope else name for scope, name, _ in given])
    return given


def from_file(path: Path) -> Given:
    """Read a TOML file: keys at the top level are for all methods, those in a table [method] for one."""
    try:
        values = tomllib.loads(read_bytes(path).decode())
    except (OSError, ValueError, RecursionError) as error:  # no file, no TOML, no UTF-8 or too many brackets
        raise ConfigurationError(f"The settings file {path} cannot be read ({error}); correct it.") from error
    given: Given = []
    for key, value in values.items():
        if isinstance(value, dict):
            given += [(key, name, inner) for name, inner in value.items()]
        else:
            given.append((None, key, value))
    return given


def _types(method: str) -> dict[str, Any]:
    kind = METHODS[method].Settings
    hints = get_type_hints(kind)
    # These two belong to the plan.
    return {item.name: hints[item.name] for item in fields(kind) if item.name not in ("seed", "device")}
