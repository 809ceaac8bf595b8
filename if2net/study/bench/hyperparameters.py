"""The settings from the committed searches, and the spaces that were searched: hyperparameters.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from if2net.config import Config
from if2net.encoder import INNATE
from if2net.errors import ConfigurationError, unknown
from if2net.images.learning import settings_for
from if2net.study.bench.search import Space
from if2net.study.bench.settings import Given
from if2net.study.data import DATASETS, IMAGE_DATASETS, Scenario, is_image_dataset
from if2net.study.methods import METHODS


def searched(
    methods: Iterable[str], dataset: str, protocol: str, scope: str = "seen", backbone: str | None = None
) -> Given:
    """Return the best settings of the search for these methods on this data set. The user's settings have priority.

    The first choice is a search on this data set with these features, the second one on CIFAR with these features, or
    on FashionMNIST for tables of pixels. All other images use the search on CIFAR with features of `@held-out`.
    """
    images = is_image_dataset(dataset)
    names = ["images" if images or backbone else dataset]
    if features := _features(backbone):
        names = [f"{dataset}@{features}", f"{'cifar100' if images else 'fashion-mnist'}@{features}", *names]
    ending = [word for word in (protocol, scope) if word not in ("agnostic", "seen")]
    keys = ["-".join([name, *ending]) for name in names]
    values: dict[str, Mapping[str, Any]] = {name: _best(name, keys) for name in methods}
    if keys[-1] == "images" and images and dataset not in IMAGE_DATASETS and "if2net" in values:
        values["if2net"] = settings_for(backbone)  # a user's own images: the same model as `if2net learn` builds
    return [(name, setting, value) for name, settings in values.items() for setting, value in settings.items()]


def for_pictures(scenario: Scenario, protocol: str, given: Given) -> Given:
    """Return settings that give IF2Net the innate encoder for pictures, unless the user chooses a dense encoder.

    The list is empty if the rows are not pixels, or if the protocol needs the paper's layers.

    >>> from if2net.study.data import parse_scenario
    >>> for_pictures(parse_scenario("mnist-10/5"), "agnostic", [])
    [('if2net', 'encoder', 'innate'), ('if2net', 'image_shape', '28x28')]
    >>> for_pictures(parse_scenario("mnist-10/5"), "agnostic", [(None, "encoder", "wide")])
    []
    >>> for_pictures(parse_scenario("mnist-10/5"), "agnostic", [(None, "encoder", "innate-large")])
    [('if2net', 'encoder', 'innate'), ('if2net', 'image_shape', '28x28')]
    """
    source = DATASETS.get(scenario.dataset) if scenario.backbone is None else None
    dense = {"encoder", *Config().encoder_overrides()} - {"width"}  # settings that the innate encoder does not have
    own = [(setting, value) for method, setting, value in given if method in (None, "if2net")]
    chosen = any(setting in dense and str(value) not in INNATE for setting, value in own)
    if source is None or source.image_shape is None or protocol != "agnostic" or chosen:
        return []
    return [("if2net", "encoder", "innate"), ("if2net", "image_shape", source.image_shape)]


def space(method: str, protocol: str = "agnostic") -> tuple[Space, Given]:
    """Return the search space of a method under a protocol, and the settings that are fixed in it."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    entry = _file().get(method, {})
    if protocol != "agnostic":
        entry = entry.get("paper", {})
    if "space" not in entry:
        example = next(iter(fields(METHODS[method].Settings)))
        raise ConfigurationError(
            f"There is no space to search for {method} under the {protocol} protocol; give a grid of its settings, "
            f"such as {example.name}=A,B."
        )
    return entry["space"], [(None, key, value) for key, value in entry.get("fixed", {}).items()]


def _features(backbone: str | None) -> str:
    """Return the backbones without their other options. An adapted network counts as the original.

    >>> _features("innate-adapted,size=28"), _features("held-out,pool=1,beside=innate-large")
    ('innate', 'held-out,beside=innate-large')
    """
    name, *options = (backbone or "").split(",")
    return ",".join([name.removesuffix("-adapted"), *(option for option in options if option.startswith("beside="))])


def _best(method: str, keys: Iterable[str]) -> dict[str, Any]:
    """Return the best settings of a method under the first key that it has, or milder ones if it diverges."""
    entry = _file().get(method, {})
    best, milder = entry.get("best", {}), entry.get("milder", {})
    return next((best[key] | milder.get(key, {}) for key in keys if key in best), {})


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files("if2net.study.bench").joinpath("hyperparameters.toml").read_text(encoding="utf-8"))
