"""Tables in markdown, ours beside the paper's."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from if2net.study.ablations.cells import Entry, Results
from if2net.study.bench.display import spread


@cache
def printed(name: str) -> dict[str, Any]:
    """What the paper prints: cell → figures."""
    return tomllib.loads(files("if2net.study.ablations").joinpath("paper.toml").read_text())[name]


def shown(entry: Entry, key: str, digits: int, factor: float = 1) -> str:
    """Mean ± standard deviation over the seeds; nothing where it was not measured."""
    if key not in entry:
        return ""
    value = entry[key]
    return spread(factor * value["mean"], factor * value["std"], digits, entry["runs"])


BESIDE = ("ACC %", "paper", "BWT", "paper", "FWT", "paper")


def beside(entry: Entry, paper: dict[str, float]) -> list[str]:
    """The cells under BESIDE. The paper's have the digits that it prints."""
    cells = [shown(entry, "acc", 2, 100), f"{paper['acc']:.2f} ± {paper['acc_std']:.2f}"]
    for key in ("bwt", "fwt"):
        cells += [shown(entry, key, 3), f"{paper[key]:.4f} ± {paper[f'{key}_std']:.4f}"]
    return cells


def found(results: Results, cell: str, protocol: str = "") -> Entry:
    return next(entry for entry in results["summary"] if (entry["cell"], entry["protocol"]) == (cell, protocol))


def seeds_of(results: Results) -> str:
    """
    >>> seeds_of({"runs": [{"seed": 0}, {"seed": 0}, {"seed": 1}]})
    'mean ± standard deviation over 2 seeds'
    """
    count = len({run["seed"] for run in results["runs"]})
    return f"mean ± standard deviation over {count} seeds" if count > 1 else "one seed"
