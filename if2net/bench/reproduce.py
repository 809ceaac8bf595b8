"""Plans for the paper's tables, and the paper's figures beside ours."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from if2net.bench.display import size, spread
from if2net.bench.folder import resolved
from if2net.bench.results import write_json
from if2net.bench.settings import Given
from if2net.bench.stream import Plan
from if2net.bench.tables import TABLES
from if2net.data import parse_scenario
from if2net.errors import unknown
from if2net.methods import METHODS

# Every task has features of its own here: a loss over its own classes is the only one there is.
BRANCHED = ("eft", "pcl")


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
        folder = out / part.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "config.json", resolved(plan))
        found.append((plan, folder))
    return found


def paper_figures(name: str) -> dict[str, dict[str, dict[str, float]]]:
    """What the paper prints: dataset → method → figures."""
    return tomllib.loads(files("if2net.bench").joinpath("paper.toml").read_text()).get(name, {})


def markdown(name: str, results: list[dict[str, Any]]) -> str:
    """The table, ours beside the paper's, one section a dataset."""
    sections = []
    for dataset, figures in paper_figures(name).items():
        mine = [entry for entry in results if parse_scenario(entry["scenario"]).dataset == dataset]
        rows = [row for entry in mine for row in _rows(entry, figures)]
        if rows:
            sections.append("\n".join([f"### {mine[0]['scenario']}", "", *HEADINGS, *rows]))
    return "\n\n".join(sections) + "\n"


HEADINGS = (
    "| method | protocol | ACC % | paper | BWT | paper | FWT | paper | learning s | state | exemplars |",
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def _rows(results: dict[str, Any], figures: dict[str, dict[str, float]]) -> list[str]:
    rows = []
    for label, entry in results["summary"].items():
        method, _, variant = label.partition(" (")
        scope = results["settings"][method].get("scope", "seen")
        own = "" if scope == "seen" or method in BRANCHED else "loss over the current task's classes"
        protocol = ", ".join(part for part in (results["protocol"], variant.removesuffix(")"), own) if part)
        printed = figures.get(method, {})
        cells = [method, protocol]
        for key, factor, digits in (("acc", 100, 2), ("bwt", 1, 3), ("fwt", 1, 3)):
            mean, deviation = factor * entry[f"{key}_mean"], factor * entry[f"{key}_std"]
            cells += [spread(mean, deviation, digits, int(entry["runs"])), _printed(printed, key, digits)]
        cells += [f"{entry['learn_seconds_mean']:.1f}", size(entry["state_bytes"]), f"{entry['exemplars']:,}"]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _printed(figures: dict[str, float], key: str, digits: int) -> str:
    return f"{figures[key]:.{digits}f}" if key in figures else ""
