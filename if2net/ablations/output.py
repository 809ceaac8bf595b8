"""The table and the figure of an ablation as files."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from if2net.ablations.cells import Ablation, Results
from if2net.report.figures import png_is_possible

PIXELS = 1000  # the width of a PNG file: sharp on a page, and light with thousands of points


def write(ablation: Ablation, results: Results, folder: Path) -> list[Path]:
    """table.md, and where there is a figure figure.svg and, with the extra `figures`, figure.png."""
    table = folder / "table.md"
    table.write_text(ablation.table(results) + "\n", encoding="utf-8")
    if ablation.figure is None:
        return [table]
    text = ablation.figure(results)
    figure = folder / "figure.svg"
    figure.write_text(text, encoding="utf-8")
    return [table, figure, *_png(text, figure.with_suffix(".png"))]


def _png(text: str, path: Path) -> list[Path]:
    if not png_is_possible():
        return []
    import vl_convert  # brings its own fonts, so that words also appear on a machine that has none

    width = float(ElementTree.fromstring(text).attrib["width"])
    path.write_bytes(vl_convert.svg_to_png(text, scale=PIXELS / width))
    return [path]
