"""Lines over numbers of tasks, in the style of the report's charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from if2net.study.report.axes import BOTTOM, HEIGHT, LEFT, MARGIN, RIGHT, TOP, WIDTH, Scale, frame, round_scale
from if2net.study.report.palette import colour_class, dash
from if2net.study.report.svg import Drawing, Key, marker

BEYOND = 0.2  # of a step: a band that is a little more is cut


@dataclass(frozen=True)
class Line:
    """A series: means and standard deviations over the seeds."""

    name: str
    means: Sequence[float]
    deviations: Sequence[float]


def line_figure(
    title: str,
    x_label: str,
    y_label: str,
    places: Sequence[float],
    lines: Sequence[Line],
    *,
    logarithmic: bool = False,
) -> str:
    """An SVG file with one line a series, a band of one standard deviation, and the key below."""
    ticks = [(place, f"{place:,g}") for place in places]
    x = Scale(places[0], places[-1], LEFT + MARGIN, WIDTH - RIGHT - MARGIN, ticks, logarithmic)
    pairs = [pair for line in lines for pair in zip(line.means, line.deviations, strict=True)]
    ends = [mean + sign * deviation for mean, deviation in pairs for sign in (-1, 1)]
    y = round_scale(ends, HEIGHT - BOTTOM, TOP, BEYOND)
    parts = frame(x, y, x_label, y_label)
    for mark, line in enumerate(lines):
        parts += _drawn(line, mark, places, x, y)
    key = [Key(line.name, mark) for mark, line in enumerate(lines)]
    return Drawing(title, WIDTH, HEIGHT, parts).alone(key)


def _drawn(line: Line, mark: int, places: Sequence[float], x: Scale, y: Scale) -> list[str]:
    lower, middle, upper = (
        [
            f"{x(place):.1f},{y(mean + sign * deviation):.1f}"
            for place, mean, deviation in zip(places, line.means, line.deviations, strict=True)
        ]
        for sign in (-1, 0, 1)
    )
    return [
        f'<g class="{colour_class(mark)}">',
        f'<polygon points="{" ".join(upper + lower[::-1])}" fill="currentColor" opacity="0.15"/>',
        f'<polyline points="{" ".join(middle)}" fill="none" stroke="currentColor" stroke-width="2" '
        f'stroke-dasharray="{dash(mark)}"/>',
        *(
            marker(mark, x(place), y(mean), f"{line.name}: {mean:.3g}")
            for place, mean in zip(places, line.means, strict=True)
        ),
        "</g>",
    ]
