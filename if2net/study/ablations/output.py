"""The table and the figure of an ablation as files."""

from __future__ import annotations

from pathlib import Path

from if2net.study.ablations.cells import Ablation, Results
from if2net.study.report.figures import save

PIXELS = 1000  # the width of a PNG file: sharp on a page, and light with thousands of points


def write(ablation: Ablation, results: Results, folder: Path) -> list[Path]:
    """table.md, and where there is a figure figure.svg and, with the extra `figures`, figure.png."""
    table = folder / "table.md"
    table.write_text(ablation.table(results) + "\n", encoding="utf-8")
    if ablation.figure is None:
        return [table]
    return [table, *save(ablation.figure(results), folder / "figure.svg", PIXELS)]
