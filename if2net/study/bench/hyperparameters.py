"""The settings from the committed searches, and the spaces that were searched: hyperparameters.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from if2net.config import Config
from if2net.errors import ConfigurationError
from if2net.images.learning import IMAGE_SETTINGS
from if2net.study.bench.search import Space
from if2net.study.bench.settings import Given
from if2net.study.data import DATASETS, IMAGE_DATASETS, is_image_dataset


def searched(
    methods: Iterable[str], dataset: str, protocol: str, scope: str = "seen", *, beside: bool = False
) -> Given:
    """The best settings of the search for these methods on this data set; settings from the user have priority.

    The search on CIFAR serves for image data sets without a search of their own. `beside` is for images whose features
    come from two backbones.
    """
    words = [word for word in (protocol, scope) if word not in ("agnostic", "seen")]
    words = ["beside", *words] if beside else words
    names = [dataset, "images"] if is_image_dataset(dataset) else [dataset]
    keys = ["-".join([name, *words]) for name in names]
    values = {name: _best(name, keys) for name in methods}
    if keys[-1] == "images" and dataset not in IMAGE_DATASETS and "if2net" in values:
        values["if2net"] = IMAGE_SETTINGS  # a user's own images: the same model as `if2net learn` builds
    return [(name, setting, value) for name, settings in values.items() for setting, value in settings.items()]


def for_pictures(dataset: str, protocol: str, given: Given) -> Given:
    """The settings with which IF2Net sees pictures through the innate encoder, unless the user gives an encoder.

    None where the data is not made of pictures, or where the protocol needs the paper's layers.

    >>> for_pictures("mnist", "agnostic", [])
    [('if2net', 'encoder', 'innate'), ('if2net', 'image_shape', '28x28')]
    >>> for_pictures("mnist", "agnostic", [(None, "encoder", "wide")])
    []
    """
    source = DATASETS.get(dataset)
    dense = {"encoder", *Config().encoder_overrides()} - {"width"}  # settings that the innate encoder does not have
    chosen = any(setting in dense and method in (None, "if2net") for method, setting, _ in given)
    if source is None or source.image_shape is None or protocol != "agnostic" or chosen:
        return []
    return [("if2net", "encoder", "innate"), ("if2net", "image_shape", source.image_shape)]


def space(method: str) -> tuple[Space, Given]:
    """The search space of a method, and the settings that are fixed in it."""
    entry = _file().get(method, {})
    if "space" not in entry:
        raise ConfigurationError(f"There is no space for {method} to search; give a grid, such as rate=0.01,0.1.")
    return entry["space"], [(None, key, value) for key, value in entry.get("fixed", {}).items()]


def _best(method: str, keys: list[str]) -> dict[str, Any]:
    """The settings under the first of these keys that the method has."""
    best = _file().get(method, {}).get("best", {})
    return next((best[key] for key in keys if key in best), {})


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files("if2net.study.bench").joinpath("hyperparameters.toml").read_text(encoding="utf-8"))
