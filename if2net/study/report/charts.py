"""The charts: accuracy over tasks, and accuracy against what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from if2net.study.report.axes import LEFT, RIGHT, WIDTH, Scale, cost_scale, count_scale, frame, percent_scale, thinned
from if2net.study.report.palette import colour_class, dash
from if2net.study.report.svg import Drawing, length, marker, text

MOST_POINTS = 60  # of a line: more cannot be told apart, and a thousand tasks would make a heavy page
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Curve:
    """Accuracy after each task: means and standard deviations over the seeds, as fractions."""

    name: str
    mark: int
    means: Sequence[float]
    deviations: Sequence[float]


@dataclass(frozen=True)
class Dot:
    """A method's accuracy beside one of its costs."""

    name: str
    mark: int
    cost: float
    mean: float
    deviation: float


def line_chart(label: str, curves: Sequence[Curve]) -> Drawing:
    """Means over tasks, with a band of one standard deviation."""
    x, y = scales(curves)
    parts = frame(x, y, "tasks learned", "ACC %")
    for curve in curves:
        parts += line(curve, x, y)
    return Drawing(label, WIDTH, 250, parts)


def scales(curves: Sequence[Curve]) -> tuple[Scale, Scale]:
    """Tasks to the right, and upwards all means with their deviations."""
    values = [
        mean + sign * deviation
        for curve in curves
        for mean, deviation in zip(curve.means, curve.deviations, strict=True)
        for sign in (-1, 1)
    ]
    return count_scale(max(len(curve.means) for curve in curves)), percent_scale(values)


def line(curve: Curve, x: Callable[[float], float], y: Callable[[float], float]) -> list[str]:
    drawn = thinned(len(curve.means), MOST_POINTS)
    lower, middle, upper = (
        [f"{x(i + 1):.1f},{y(100 * (curve.means[i] + sign * curve.deviations[i])):.1f}" for i in drawn]
        for sign in (-1, 0, 1)
    )
    parts = [f'<g class="{colour_class(curve.mark)}" data-mark="{curve.mark}">']
    if any(curve.deviations):
        parts.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="currentColor" opacity="0.15"/>')
    parts.append(
        f'<polyline points="{" ".join(middle)}" fill="none" stroke="currentColor" stroke-width="2" '
        f'stroke-dasharray="{dash(curve.mark)}"/>'
    )
    radius = 4 if len(drawn) <= 20 else 2
    for i in drawn:
        said = f"{curve.name}, after task {i + 1}: {_spread(curve.means[i], curve.deviations[i])}"
        parts.append(marker(curve.mark, x(i + 1), y(100 * curve.means[i]), said, radius))
    return [*parts, "</g>"]


def scatter(label: str, dots: Sequence[Dot], cost: str, words: Callable[[float], str]) -> Drawing:
    """ACC against a cost on a logarithmic axis: up and to the left is better."""
    y = percent_scale([dot.mean + sign * dot.deviation for dot in dots for sign in (-1, 1)])
    x = cost_scale([dot.cost for dot in dots], words)
    parts = frame(x, y, cost, "ACC %")
    taken: list[Box] = [_around(x(dot.cost), y(100 * dot.mean)) for dot in dots]
    for dot in dots:
        across, up = x(dot.cost), y(100 * dot.mean)
        said = f"{dot.name}: {_spread(dot.mean, dot.deviation)} at {words(dot.cost)}"
        parts.append(f'<g class="{colour_class(dot.mark)}" data-mark="{dot.mark}">')
        if dot.deviation:
            top, bottom = (y(100 * (dot.mean + sign * dot.deviation)) for sign in (1, -1))
            parts.append(f'<path d="M{across:.1f} {top:.1f}V{bottom:.1f}" stroke="currentColor" stroke-width="1.5"/>')
        parts += [marker(dot.mark, across, up, said), *_name(dot.name, across, up, taken), "</g>"]
    return Drawing(label, WIDTH, 250, parts)


def _around(x: float, y: float) -> Box:
    return x - 6, y - 6, x + 6, y + 6


def _name(name: str, x: float, y: float, taken: list[Box]) -> list[str]:
    """The name beside its dot, where there is room for it; the key and the pointer tell the others."""
    room = length(name)
    for left, base in ((x + 8, y + 4), (x - 8 - room, y + 4), (x - room / 2, y - 9), (x - room / 2, y + 18)):
        box = (left, base - 11, left + room, base + 3)
        if left >= LEFT and box[2] <= WIDTH - RIGHT and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            return [text(left, base, name)]
    return []


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _spread(mean: float, deviation: float) -> str:
    return f"{100 * mean:.2f} ± {100 * deviation:.2f} %" if deviation else f"{100 * mean:.2f} %"
