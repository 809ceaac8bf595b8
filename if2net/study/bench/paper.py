"""The figures that the paper prints, for comparison with ours: paper.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def paper_figures(name: str) -> dict[str, dict[str, Any]]:
    """Return the figures of a table or figure of the paper; empty if it prints none.

    The keys of a comparison are data sets or task sequences, then methods. If the paper prints only a margin, there
    is one entry "margin". The keys of an ablation are cells.
    """
    return _file().get(name, {})


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files("if2net.study.bench").joinpath("paper.toml").read_text(encoding="utf-8"))
