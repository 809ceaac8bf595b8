"""Joins results of the same scenario that were made on different machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError
from if2net.study.bench import results as store
from if2net.study.bench.backbones import identities
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS
from if2net.study.pretraining.held_out import is_held_out


def merge_folders(parts: list[Path], out: Path) -> list[Path]:
    """Join the results of several folders, or of several folders of folders; returns the files written."""
    found: dict[Path, list[dict[str, Any]]] = {}
    for part in parts:
        for file in store.result_files(part):
            found.setdefault(file.relative_to(part), []).append(store.read_results(file))
    merged = {name: merge(results) for name, results in found.items()}
    for name, results in merged.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        store.write_json(out / name, results)
    return [out / name for name in merged]


def merge(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The runs of all parts in one. What two parts both have must be the same."""
    first, *others = parts
    joined = {**first, "settings": dict(first["settings"]), "runs": list(first["runs"])}
    for part in others:
        _check_same(joined, part)
        joined["settings"] |= part["settings"]
        known = {_key(run) for run in joined["runs"]}
        joined["runs"] += [run for run in part["runs"] if _key(run) not in known]
    order = list(METHODS)
    joined["runs"].sort(key=lambda run: (order.index(run["method"]), run["variant"], run["seed"]))
    store.summarise(joined)
    return joined


def _check_same(joined: dict[str, Any], part: dict[str, Any]) -> None:
    for key in ("scenario", "protocol"):
        if joined[key] != part[key]:
            raise ConfigurationError(
                f"Results of {joined[key]} and of {part[key]} cannot be merged; choose parts of the same {key}."
            )
    for method, settings in part["settings"].items():
        if joined["settings"].get(method, settings) != settings:
            raise ConfigurationError(
                f"The parts have different settings of {method}, so they cannot be merged; run one of them again."
            )
    own = is_held_out(parse_scenario(joined["scenario"]))  # then every seed has a backbone
    found = identities(joined["runs"] + part["runs"], own)
    if len(found) > len({seed for seed, _ in found}):
        raise ConfigurationError(
            "The parts were made with different backbones, whose numbers may not stand in one table; run one of them "
            "again with the backbone of the other."
        )


def _key(run: dict[str, Any]) -> tuple[str, str, int]:
    return run["method"], run["variant"], run["seed"]
