"""Methods beside each other: a panel for each scenario, with the same methods in the same order in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from if2net.study.bench.display import spread
from if2net.study.bench.experiments import BOUNDS
from if2net.study.data import parse_scenario
from if2net.study.report.axes import Scale, round_scale
from if2net.study.report.gather import Section, Series
from if2net.study.report.naming import FEATURES, title
from if2net.study.report.palette import colour_class
from if2net.study.report.svg import CHARACTER, Drawing, marker, text

ROW, BAR = 17, 11  # the height of a method, and of its bar
NAMES, VALUES, GAP = 70, 84, 24  # room for the names, for the numbers beside the bars, and between panels
HEAD, FOOT = 40, 28  # above and below the rows of a panel
LINE = 18
OURS, OTHERS, KEEPING, BOUND = 0, 5, 1, 6  # colours of the palette
# White stripes, so that exemplars are also seen without colours.
HATCH = (
    '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="1.5" height="5" fill="#fff"/></pattern></defs>'
)
# Key, name, mark and how far beside the row's middle; in colours that mean nothing else here.
TRANSFER = (("bwt", "BWT", 2, -3), ("fwt", "FWT", 3, 3))


@dataclass(frozen=True)
class Panel:
    """Where a panel lies, and what it shows."""

    heading: str
    left: float
    top: float
    width: float
    rows: Sequence[str]
    series: dict[str, Series]

    @property
    def bottom(self) -> float:
        return self.top + HEAD + ROW * len(self.rows)

    def middle(self, name: str) -> float:
        return self.top + HEAD + ROW * (self.rows.index(name) + 0.5)


def bars(sections: Sequence[Section], label: str, columns: int, width: float) -> Drawing:
    """ACC as bars with one standard deviation, in so many columns of panels."""
    rows = _order(sections)
    panels = [_place(section, rows, place, columns, width, 0) for place, section in enumerate(sections)]
    elements = [HATCH]
    for place, (panel, section) in enumerate(zip(panels, sections, strict=True)):
        elements += [*_names(panel, place % columns == 0), *_accuracies(panel, _alike(section, sections))]
    return _page(label, elements, panels, columns, width, [])


def bars_and_transfer(sections: Sequence[Section], label: str, width: float) -> Drawing:
    """ACC as bars below, and BWT and FWT above them, one column a scenario."""
    rows, columns = _order(sections), len(sections)
    elements, panels = [HATCH], []
    for place, section in enumerate(sections):
        above, below = (_place(section, rows, place, columns, width, row) for row in range(2))
        elements += [*_names(above, not place), *_transfers(above, sections)]
        elements += [*_names(below, not place), *_accuracies(below, sections)]
        panels += [above, below]
    return _page(label, elements, panels, columns, width, [(mark, name) for _, name, mark, _ in TRANSFER])


def _order(sections: Sequence[Section]) -> list[str]:
    """Joint, which sees all data, then the best first: by ACC, the mean of the scenarios that a method was run on."""
    found: dict[str, list[float]] = {}
    for section in sections:
        for series in section.series:
            found.setdefault(series.name, []).append(series.summary["acc_mean"])
    return sorted(found, key=lambda name: (name != "joint", -fmean(found[name])))


def _place(section: Section, rows: Sequence[str], place: int, columns: int, width: float, row: int) -> Panel:
    height = HEAD + ROW * len(rows) + FOOT
    across, down = place % columns, place // columns + row
    left, top = NAMES + across * (width + GAP), down * height
    return Panel(title(section.scenario), left, top, width, rows, {entry.name: entry for entry in section.series})


def _page(
    label: str,
    elements: list[str],
    panels: Sequence[Panel],
    columns: int,
    width: float,
    marks: Sequence[tuple[int, str]],
) -> Drawing:
    bottom = max(panel.bottom for panel in panels) + FOOT
    whole = NAMES + min(columns, len(panels)) * (width + GAP)
    key, height = _key(bottom + LINE, whole, marks)
    return Drawing(label, whole, height, [*elements, *key])


def _names(panel: Panel, first: bool) -> list[str]:
    """The heading; and in the first column the methods."""
    parts = [text(panel.left, panel.top + 16, panel.heading, kind="title")]
    for name in panel.rows if first else ():
        kind = "title" if name == "if2net" else ""
        parts.append(text(panel.left - 6, panel.middle(name) + 4, name, "end", kind))
    return parts


def _alike(section: Section, sections: Sequence[Section]) -> list[Section]:
    """Those with the same backbone: their panels have one scale."""
    backbone = parse_scenario(section.scenario).backbone
    return [other for other in sections if parse_scenario(other.scenario).backbone == backbone]


def _ends(sections: Sequence[Section], keys: Sequence[str], factor: float) -> list[float]:
    """Where the whiskers end, and zero."""
    entries = [series.summary for section in sections for series in section.series]
    ends = [
        entry[f"{key}_mean"] + sign * entry[f"{key}_std"] for entry in entries for key in keys for sign in (-1, 1)
    ]
    return [0.0, *(factor * end for end in ends)]


def _accuracies(panel: Panel, alike: Sequence[Section]) -> list[str]:
    ends = _ends(alike, ["acc"], 100)
    x = round_scale([max(0.0, end) for end in ends], panel.left, panel.left + panel.width - VALUES)
    parts = _grid(panel, x, "ACC %")
    if "joint" in panel.series:
        place = x(100 * panel.series["joint"].summary["acc_mean"])
        parts.append(
            f'<path d="M{place:.1f} {panel.top + HEAD}V{panel.bottom}" stroke="#777" stroke-dasharray="4 3"/>'
        )
    for name, entry in panel.series.items():
        parts += _bar(entry, x, panel.middle(name))
    return parts


def _bar(series: Series, x: Scale, middle: float) -> list[str]:
    mean, deviation = (100 * series.summary[f"acc_{kind}"] for kind in ("mean", "std"))
    value = spread(mean, deviation, 2, int(series.summary["runs"]))
    return [
        *_box(_colour(series), series.keeps_exemplars, x.start, middle, x(mean) - x.start),
        _whisker(x, mean, deviation, middle),
        _readable(text(x(mean + deviation) + 5, middle + 4, value)),
    ]


def _readable(words: str) -> str:
    """On a white edge of its own, since lines pass behind it."""
    return f'<g stroke="#fff" stroke-width="3" paint-order="stroke">{words}</g>'


def _colour(series: Series) -> int:
    if series.method in BOUNDS:
        return BOUND
    if series.method == "if2net":
        return OURS
    return KEEPING if series.keeps_exemplars else OTHERS


def _box(colour: int, hatched: bool, left: float, middle: float, width: float) -> list[str]:
    box = f'x="{left:.1f}" y="{middle - BAR / 2:.1f}" width="{max(width, 0):.1f}" height="{BAR}"'
    found = [f'<rect class="{colour_class(colour)}" {box} fill="currentColor"/>']
    return [*found, f'<rect {box} fill="url(#hatch)"/>'] if hatched else found


def _whisker(x: Scale, mean: float, deviation: float, middle: float) -> str:
    """One standard deviation to both sides; nothing where there was one seed."""
    low, high = x(mean - deviation), x(mean + deviation)
    caps = "".join(f"M{end:.1f} {middle - 3:.1f}v6" for end in (low, high))
    return f'<path d="M{low:.1f} {middle:.1f}H{high:.1f}{caps}" stroke="#1a1a1a" fill="none"/>' if deviation else ""


def _transfers(panel: Panel, alike: Sequence[Section]) -> list[str]:
    ends = _ends(alike, [key for key, *_ in TRANSFER], 1)
    x = round_scale(ends, panel.left, panel.left + panel.width - GAP)
    parts = _grid(panel, x, "BWT and FWT")
    parts.append(f'<path d="M{x(0):.1f} {panel.top + HEAD}V{panel.bottom}" stroke="#777"/>')
    for name, entry in panel.series.items():
        for key, words, mark, beside in TRANSFER:
            mean, deviation = (entry.summary[f"{key}_{kind}"] for kind in ("mean", "std"))
            place = panel.middle(name) + beside
            said = f"{name}: {words} {spread(mean, deviation, 3, int(entry.summary['runs']))}"
            dot = f'<g class="{colour_class(mark)}">{marker(mark, x(mean), place, said, 3)}</g>'
            parts += [_whisker(x, mean, deviation, place), dot]
    return parts


def _grid(panel: Panel, x: Scale, label: str) -> list[str]:
    parts = [text(panel.left, panel.top + HEAD - 7, label)]
    for value, words in x.ticks:
        parts.append(f'<path class="grid" d="M{x(value):.1f} {panel.top + HEAD}V{panel.bottom}"/>')
        parts.append(text(x(value), panel.bottom + 14, words, "middle"))
    return parts


def _key(top: float, width: float, marks: Sequence[tuple[int, str]]) -> tuple[list[str], float]:
    """What colours, stripes and shapes mean, in as many lines as it takes; and where it ends."""
    boxes = (
        (OURS, False, "ours"),
        (OTHERS, False, "keeps no exemplars"),
        (KEEPING, True, "keeps exemplars"),
        (BOUND, False, "none: no defence"),
        (BOUND, True, "joint: trained on all data so far (dashed line)"),
    )
    parts, left = [], 8.0
    for colour, hatched, words in (*boxes, *((mark, None, name) for mark, name in marks)):
        room = 40 + CHARACTER * len(words)
        if left + room > width:
            left, top = 8.0, top + LINE
        if hatched is None:
            parts.append(f'<g class="{colour_class(colour)}">{marker(colour, left + 12, top)}</g>')
        else:
            parts += _box(colour, hatched, left, top, 24)
        parts.append(text(left + 30, top + 4, words))
        left += room
    for words in ("whiskers: one standard deviation over the seeds", FEATURES):
        top += LINE
        parts.append(text(8, top + 4, words))
    return parts, top + LINE
