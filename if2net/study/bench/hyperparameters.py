"""The settings that a search has found for each method, and the grids that were searched: hyperparameters.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from if2net.errors import ConfigurationError
from if2net.images.learning import PICTURE_SETTINGS
from if2net.study.bench.search import Grid
from if2net.study.bench.settings import Given
from if2net.study.data import IMAGE_DATASETS, is_image_dataset


def found(methods: Iterable[str], dataset: str, protocol: str, scope: str = "seen") -> Given:
    """What was found for these methods on this dataset, to come before what a user gives."""
    searched = "images" if is_image_dataset(dataset) else dataset  # one search, on CIFAR, serves for all images
    key = "-".join([searched, *(word for word in (protocol, scope) if word not in ("agnostic", "seen"))])
    values = {name: _file().get(name, {}).get("found", {}).get(key, {}) for name in methods}
    if key == "images" and dataset not in IMAGE_DATASETS and "if2net" in values:
        values["if2net"] = PICTURE_SETTINGS  # a user's own pictures: the same model as `if2net learn` builds
    return [(name, setting, value) for name, settings in values.items() for setting, value in settings.items()]


def grid(method: str) -> Grid:
    """The grid that is searched for a method when none is given."""
    values = _file().get(method, {}).get("grid")
    if values is None:
        raise ConfigurationError(f"There is no grid for {method} to search; give one with --grid key=value,value.")
    return {key: [str(value) for value in choices] for key, choices in values.items()}


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files("if2net.study.bench").joinpath("hyperparameters.toml").read_text())
