"""ACC over the tasks for many methods at once: a large chart with every name at the end of its line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from if2net.study.bench.experiments import BOUNDS
from if2net.study.report.axes import BOTTOM, LEFT, MARGIN, TOP, frame
from if2net.study.report.charts import Curve, line, scales
from if2net.study.report.gather import Section, Series
from if2net.study.report.naming import FEATURES
from if2net.study.report.palette import COLOURS, colour_class
from if2net.study.report.svg import Drawing, sample, text

WIDTH, HEIGHT, NAMES = 740, 490, 138  # the names have that much room on the right
LINE = 15
GREY = 6  # of the palette's colours
NOTES = (
    "solid: keeps no exemplars; dashed: keeps exemplars; bands: one standard deviation over the seeds",
    "grey: none has no defence against forgetting, joint is trained on all data so far",
    FEATURES,
)


def curves(section: Section, title: str) -> Drawing:
    marks = distinct(section.series)
    drawn = [Curve(series.name, marks[series.name], *series.curve) for series in section.series]
    x, y = scales(drawn)
    bottom = HEIGHT - BOTTOM - LINE * len(NOTES)
    x, y = replace(x, start=LEFT + MARGIN, end=WIDTH - NAMES - MARGIN), replace(y, start=bottom, end=TOP)
    parts = frame(x, y, "tasks learned", "ACC %")
    for curve in drawn:
        parts += line(curve, x, y)
    ends = {curve.name: y(100 * curve.means[-1]) for curve in drawn}
    places = apart(ends, LINE, TOP, bottom)
    for curve in drawn:
        label = f"{curve.name} {100 * curve.means[-1]:.1f}"
        parts += _name(label, curve.mark, x.end, ends[curve.name], places[curve.name])
    parts += [text(LEFT, bottom + BOTTOM + 10 + LINE * place, words) for place, words in enumerate(NOTES)]
    return Drawing(f"{title}: ACC on all tasks seen so far", WIDTH, HEIGHT, parts)


def distinct(series: Sequence[Series]) -> dict[str, int]:
    """A mark for each: dashed where exemplars are kept, grey for the bounds, the palette's first colour for ours."""
    found = {}
    colours = [colour for colour in range(len(COLOURS)) if colour != GREY]
    for kept in (False, True):
        group = [entry for entry in series if entry.keeps_exemplars == kept]
        others = sorted((entry for entry in group if entry.method not in BOUNDS), key=lambda entry: not _ours(entry))
        for place, entry in enumerate(others):
            rounds, colour = divmod(place, len(colours))
            found[entry.name] = colours[colour] + len(COLOURS) * (kept + 2 * rounds)
        found |= {entry.name: GREY + len(COLOURS) * kept for entry in group if entry.method in BOUNDS}
    return found


def _ours(series: Series) -> bool:
    return series.method == "if2net"


def apart(ends: dict[str, float], gap: float, top: float, bottom: float) -> dict[str, float]:
    """Places near the ends of the lines, at least `gap` from each other.

    Pushing everything down, and pushing everything up, both keep the gap; so does the middle between the two.

    >>> apart({"a": 50, "b": 50, "c": 90}, 10, 0, 100)
    {'a': 45.0, 'b': 55.0, 'c': 90.0}
    """
    names = sorted(ends, key=lambda name: ends[name])
    down: list[float] = []
    up: list[float] = []
    for place, name in enumerate(names):
        down.append(max(ends[name], down[-1] + gap if place else top))
    for place, name in enumerate(reversed(names)):
        up.append(min(ends[name], up[-1] - gap if place else bottom))
    middle = {name: (low + high) / 2 for name, low, high in zip(names, down, reversed(up), strict=True)}
    return {name: middle[name] for name in ends}


def _name(label: str, mark: int, x: float, end: float, place: float) -> list[str]:
    """The name with a piece of its line, and a thin stroke to the end of the curve that it belongs to."""
    leader = f'<path d="M{x + 5:.1f} {end:.1f}L{x + 20:.1f} {place:.1f}" stroke="currentColor" fill="none"/>'
    piece = f'<g transform="translate({x + 18:.1f} {place - 8:.1f})">{sample(mark)}</g>'
    return [f'<g class="{colour_class(mark)}">{leader}{piece}</g>', text(x + 46, place + 4, label)]
