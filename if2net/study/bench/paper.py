"""The figures that the paper prints, to stand beside ours: paper.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def paper_figures(name: str) -> dict[str, dict[str, Any]]:
    """The figures of a table or figure of the paper, empty where it prints none.

    A comparison has them by data set or task sequence, then by method; or one entry "margin" where the paper prints
    no more. An ablation has them by cell.
    """
    return _file().get(name, {})


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files("if2net.study.bench").joinpath("paper.toml").read_text(encoding="utf-8"))
