"""The figures of a section, for the page and as SVG and PNG files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

from if2net.files import make_folder
from if2net.study.bench.display import size
from if2net.study.report.charts import Curve, Dot, line_chart, scatter
from if2net.study.report.devices import several_devices
from if2net.study.report.gather import Section, Series
from if2net.study.report.heat import heat_map
from if2net.study.report.svg import Drawing, Key

ELSEWHERE = "choose another place with --out"
PIXELS = 3  # of a PNG file for each unit of the figure: sharp in print


@dataclass(frozen=True)
class Figure:
    """A drawing with the key that it needs where it stands alone."""

    name: str
    drawing: Drawing
    key: Sequence[Key] = ()


def charts(section: Section) -> list[Figure]:
    """ACC over tasks, and ACC against learning time and against memory."""
    key = [Key(series.name, series.mark) for series in section.series]
    curves = [Curve(series.name, series.mark, *series.curve) for series in section.series]
    seconds = [_dot(series, max(series.summary["learn_seconds_mean"], 0.001)) for series in section.series]
    memory = [_dot(series, max(series.summary["state_bytes"], 1.0)) for series in section.series]
    time = f"{section.title}: accuracy against learning time. {several_devices(section)}".rstrip(". ")
    drawings = {
        "accuracy": line_chart(f"{section.title}: accuracy on all tasks seen so far", curves),
        "time": scatter(time, seconds, "seconds of learning", _seconds),
        "memory": scatter(f"{section.title}: accuracy against memory", memory, "model and exemplars", _size),
    }
    return [Figure(name, drawing, key) for name, drawing in drawings.items()]


def maps(section: Section) -> list[tuple[Series, Figure]]:
    """R of each method."""
    return [
        (
            series,
            Figure(
                f"R {series.name}",
                heat_map(f"{section.title}, {series.name}: accuracy matrix R", series.tasks, series.accuracy),
            ),
        )
        for series in section.series
    ]


def write_figures(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write every figure as SVG, and as PNG where the extra `figures` is installed; returns the files."""
    make_folder(folder, ELSEWHERE)
    written = []
    for section in sections:
        for figure in [*charts(section), *(figure for _, figure in maps(section))]:
            text = figure.drawing.alone(figure.key)
            path = folder / f"{_file_name(f'{section.title} {figure.name}')}.svg"
            written += save(text, path)
    return written


def save(text: str, path: Path, width: float | None = None) -> list[Path]:
    """Write an SVG file and, where it is possible, a PNG beside it: light and so wide, or sharp in print."""
    path.write_text(text, encoding="utf-8")
    if not png_is_possible():
        return [path]
    import vl_convert  # brings its own fonts, so that words also appear on a machine that has none

    scale = width / float(ElementTree.fromstring(text).attrib["width"]) if width else PIXELS
    drawn = vl_convert.svg_to_png(text, scale=scale)
    picture = path.with_suffix(".png")
    picture.write_bytes(_light(drawn) if width else drawn)
    return [path, picture]


def _light(picture: bytes) -> bytes:
    """The same in 256 colours, a tenth of the bytes."""
    from PIL import Image

    light = BytesIO()
    Image.open(BytesIO(picture)).convert("RGB").quantize(256).save(light, "PNG", optimize=True)
    return light.getvalue()


def png_is_possible() -> bool:
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("vl_convert", "PIL"))


def _dot(series: Series, cost: float) -> Dot:
    return Dot(series.name, series.mark, cost, series.summary["acc_mean"], series.summary["acc_std"])


def _seconds(value: float) -> str:
    """
    >>> _seconds(0.0123), _seconds(20_000)
    ('0.0123 s', '20,000 s')
    """
    return f"{value:.3g} s" if value < 1000 else f"{value:,.0f} s"


def _size(value: float) -> str:
    return size(value).replace(".0 ", " ")


def _file_name(words: str) -> str:
    """
    >>> _file_name("digits-10/5, aware R if2net (mixed)")
    'digits-10-5-aware-r-if2net-mixed'
    """
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
