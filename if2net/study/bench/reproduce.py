"""Plans for the paper's tables, and the figures that the paper prints."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError, unknown
from if2net.study.bench.experiments import TABLES
from if2net.study.bench.settings import Given
from if2net.study.bench.stream import Plan
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS


def plans(
    name: str, out: Path, *, methods: list[str], seeds: tuple[int, ...], device: str, given: Given
) -> list[tuple[Plan, Path]]:
    """The plans of a table, each with its folder; restricted to some methods where they are named."""
    if name not in TABLES:
        raise unknown("table", name, TABLES)
    for method in methods:
        if method not in METHODS:
            raise unknown("method", method, METHODS)
    found = []
    for part in TABLES[name][1]():
        chosen = [method for method in part.methods if not methods or method in methods]
        if not chosen:
            continue
        settings = part.settings(chosen, given)
        plan = Plan(parse_scenario(part.scenario), settings, seeds, part.protocol, device)
        found.append((plan, out / part.folder))
    if not found:
        known = dict.fromkeys(method for part in TABLES[name][1]() for method in part.methods)
        raise ConfigurationError(f"{name} compares none of {', '.join(methods)}; choose from {', '.join(known)}.")
    return found


def paper_figures(name: str) -> dict[str, dict[str, dict[str, Any]]]:
    """What the paper prints: dataset or task sequence → method → figures; or → "margin", where it prints no more."""
    return tomllib.loads(files("if2net.study.bench").joinpath("paper.toml").read_text()).get(name, {})
