"""Every chart of the study, drawn by matplotlib: inline in the page, and as SVG and PNG files for papers.

One method is highlighted, the best and the bounds have colours of their own, and the rest is grey. A chart is drawn
in the light colours below; in the page each of them becomes a variable of the style sheet, which has a dark mode.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from io import BytesIO, StringIO
from pathlib import Path
from statistics import fmean
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox
from PIL import Image
from rich.filesize import decimal

from if2net.files import replacing
from if2net.study.bench.display import ACC
from if2net.study.bench.experiments import BOUNDS
from if2net.study.data import parse_scenario
from if2net.study.report.gather import FEATURES, Section, Series, title

# The colours of files. In the page they become variables, so no two of them may be equal.
INK, SOFT, GRID = "#1a1a1a", "#767676", "#dddddd"
HIGHLIGHT, BEST, BOUND, REST = "#0072b2", "#d55e00", "#4d4d4d", "#b3b3b3"
VARIABLES = {INK: "var(--ink)", SOFT: "var(--soft)", GRID: "var(--line)"}
VARIABLES |= dict.fromkeys((HIGHLIGHT, BEST, BOUND, REST), "currentColor")
# Colours for a few lines of equal rank: Okabe and Ito's, then five more that colour-blind readers can distinguish.
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"),
    *("#56b4e9", "#646464", "#503cf0", "#a0b464", "#8c5028"),
)
MARKERS = "os^Dv"
SHADES = LinearSegmentedColormap.from_list("shades", ["#deebf7", "#084594"])  # even in lightness, for grey prints
MIDDLE_GREY = 0.191  # the luminance on which black and white figures stand out alike
FONTS = "'DejaVu Sans', Helvetica, Arial, sans-serif"
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "if2net",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": GRID,
    **{f"axes.spines.{side}": False for side in ("top", "right", "left")},
    **dict.fromkeys(("axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "hatch.linewidth": 1.5,
    "ytick.major.size": 0,
}
LINE = 13  # the height of a line of text
LONGEST_NAME = 26  # characters of a name in a chart; its tooltip has the whole name
MOST_POINTS = 60  # of a line: more cannot be distinguished
MOST_TASKS = 30  # rows and columns of a matrix R
NOTES = (
    "dashed: keeps exemplars; band: one standard deviation over the seeds",
    "none has no defence against forgetting, joint is trained on all data so far",
)


@dataclass(frozen=True)
class Chart:
    """A figure, the sentence that describes it, and the class and the tooltip of each series in the page."""

    figure: Figure
    label: str
    marks: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    def inline(self) -> str:
        """The chart for the page, whose style sheet sets the colours, and whose script the highlighted method."""
        width, height = 72 * self.figure.get_size_inches()
        opening = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(self.label)}">'
        text = self.svg().partition("</metadata>")[2]
        text = re.sub(r"<style[^<]*</style>|font-weight: [^;\"]*; |\n", " ", text)
        text = _rounded(text, 1)
        text = re.sub(r'<g id="series-(\d+)">', self._group, text)
        text = re.sub(r'<g id="[^"]*">', "<g>", text)
        for colour, variable in VARIABLES.items():
            text = text.replace(colour, variable)
        return opening + re.sub(r">\s+<", "><", text.strip())

    def svg(self) -> str:
        """The chart as an SVG file, the same text each time."""
        file = StringIO()
        with matplotlib.rc_context(STYLE):
            self.figure.savefig(file, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
        text = re.sub(r"<!--.*?-->|(?<=\n) +", "", file.getvalue())
        text = re.sub(r"font: 700 ", "font-weight: 700; font: ", text)  # matplotlib 3.8 writes it in one
        text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", text)
        text = re.sub(r'font-family: [^;"]*; | transform="rotate\(-?0 [^)"]*\)"', "", text)
        text = text.replace("</style>", f" text{{font-family: {FONTS}}}</style>", 1)
        text = re.sub(r"(?<=image/png;base64,)[^\"]+", _smaller_points, text)
        return _rounded(text, 2)

    def _group(self, match: re.Match[str]) -> str:
        kind, hint = self.marks[int(match[1])]
        return f'<g class="{kind}" data-method="{match[1]}"><title>{escape(hint)}</title>'


def _rounded(svg: str, digits: int) -> str:
    """An SVG text with few decimals in the numbers of its tags, which saves up to two thirds of the bytes."""

    def shorter(tag: re.Match[str]) -> str:
        return re.sub(r"-?\d+\.\d{2,}", lambda number: f"{round(float(number[0]), digits):g}", tag[0])

    return re.sub(r"<[^>]*>", shorter, svg)


def _few_colours(image: Image.Image) -> bytes:
    """A PNG file with 256 colours, which takes a tenth of the bytes."""
    file = BytesIO()
    image.quantize(256).save(file, "PNG", optimize=True)
    return file.getvalue()


def _smaller_points(png: re.Match[str]) -> str:
    return b64encode(_few_colours(Image.open(BytesIO(b64decode(png[0]))))).decode()


def save(chart: Chart, path: Path, pixels: int | None = None) -> list[Path]:
    """Write an SVG file and a PNG file beside it, `pixels` wide or three times the size of the figure."""
    drawn = BytesIO()
    with matplotlib.rc_context(STYLE):
        dpi = pixels / chart.figure.get_figwidth() if pixels else 216
        chart.figure.savefig(drawn, format="png", dpi=dpi)
    small = _few_colours(Image.open(drawn).convert("RGB"))
    files = {path: chart.svg().encode(), path.with_suffix(".png"): small}
    for file, content in files.items():
        with replacing(file) as temporary:
            temporary.write_bytes(content)
    return list(files)


def ink_on(fraction: float) -> str:
    """Black or white, whichever can be read on the shade of a fraction."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in SHADES(fraction)[:3]]
    return "#111111" if np.dot([0.2126, 0.7152, 0.0722], linear) > MIDDLE_GREY else "#ffffff"


def shade_rules() -> str:
    """The style of cells that are shaded from 0 to 100 % in steps of 5."""
    steps = [(step, matplotlib.colors.to_hex(SHADES(step / 20)), ink_on(step / 20)) for step in range(21)]
    return "".join(f".h{step}{{background:{shade};color:{ink}}}" for step, shade, ink in steps)


def thinned(count: int, limit: int) -> list[int]:
    """The places of `limit` of `count` points, evenly spread and with both ends.

    >>> thinned(3, 5), thinned(9, 5)
    ([0, 1, 2], [0, 2, 4, 6, 8])
    """
    return np.linspace(0, count - 1, min(count, limit)).round().astype(int).tolist()


class _Sheet:
    """A figure under construction, in points. Files have a title on top and notes at the bottom."""

    def __init__(self, width: float, height: float, heading: str = "", notes: Sequence[str] = ()) -> None:
        titles = wrap(heading, int(width / 5.8))
        self.top, self.bottom = LINE * len(titles) + (8 if titles else 0), LINE * len(notes)
        self.width, self.height = width, height + self.top + self.bottom
        self.figure = Figure((self.width / 72, self.height / 72), dpi=72, facecolor="white" if titles else "none")
        for place, words in enumerate(titles):
            self._text(LINE * (place + 1), words, weight="bold", size=9.5)
        for place, words in enumerate(reversed(notes)):
            self._text(self.height - 5 - LINE * place, words, size=8, color=SOFT)

    def _text(self, down: float, words: str, **style: Any) -> None:
        self.figure.text(8 / self.width, 1 - down / self.height, words, **style)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes at a place that is measured from the left and from below the title."""
        bottom = self.height - self.top - top - height
        box = left / self.width, bottom / self.height, width / self.width, height / self.height
        axes = self.figure.add_axes(box, facecolor="none")
        axes.set_axisbelow(True)
        return axes


@dataclass(frozen=True)
class _Look:
    """How a series is drawn: its class in the page, its colour in files, and its layer (above 3 it stands out)."""

    index: int
    kind: str
    colour: str
    layer: int

    @property
    def style(self) -> dict[str, Any]:
        return {"color": self.colour, "zorder": self.layer, "gid": f"series-{self.index}"}

    @property
    def name_style(self) -> dict[str, Any]:
        colour, weight = SOFT if self.colour == REST else self.colour, "bold" if self.layer == 9 else "normal"
        return {**self.style, "color": colour, "size": 8.5, "weight": weight, "va": "center"}


def _look(series: Series, section: Section) -> _Look:
    kinds = {
        "on": (series is section.highlighted, HIGHLIGHT, 9),
        "best": (series is section.best, BEST, 7),
        "bound": (series.method in BOUNDS, BOUND, 5),
        "s": (True, REST, 3),
    }
    css = " ".join(kind for kind, (holds, *_) in kinds.items() if holds)
    colour, layer = next((colour, layer) for holds, colour, layer in kinds.values() if holds)
    return _Look(series.index, css, colour, layer)


@matplotlib.rc_context(STYLE)
def accuracy_chart(section: Section, *, alone: bool = False, width: float = 400, heading: str = "") -> Chart:
    """ACC on all tasks seen so far, after each task; the names stand at the ends of the lines."""
    label = f"{heading or section.title}: ACC on all tasks seen so far"
    ends = {series.index: 100 * series.curve[0][-1] for series in section.series}
    names = {series.index: f"{_short(series.name)} {ends[series.index]:.1f}" for series in section.series}
    # In the page it stands beside two other charts.
    height = max((0.65 if alone else 1.35) * width, (LINE - 1) * len(names) + 62)
    notes = [*NOTES, *([FEATURES] if section.has_backbone else [])]
    sheet = _Sheet(width, height, label if alone else "", notes if alone else ())
    across, down = width - 48 - 5.4 * max(map(len, names.values())), height - 58
    plot = sheet.axes(30, 22, across, down)
    _percent_axis(plot, [pair for series in section.series for pair in zip(*series.curve, strict=True)])
    low, high = plot.get_ylim()
    places = apart(ends, (LINE - 2) * (high - low) / down, low, high)
    first, last = 1 - 0.03 * section.tasks, 1.03 * section.tasks
    point = (last - first) / across
    plot.set_xlim(first, last)
    plot.set_xlabel("tasks learned")
    plot.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    drawn = thinned(section.tasks, MOST_POINTS)
    x = [task + 1 for task in drawn]
    marks = {}
    for series in section.series:
        index, look = series.index, _look(series, section)
        means, deviations = (100 * np.array(part)[drawn] for part in series.curve)
        if deviations.any():
            # Other bands are invisible until the reader of the page chooses their method.
            shown = 0.16 if look.layer == 9 else 0.0
            plot.fill_between(x, means - deviations, means + deviations, lw=0, alpha=shown, **look.style)
        thick, dot = (1.8 if look.layer > 3 else 1), (3.5 if len(x) <= 20 else 1.5)
        dashes: Any = (0, (4, 2)) if series.keeps_exemplars else "-"
        plot.plot(x, means, lw=thick, ls=dashes, marker="o", ms=dot, **look.style)
        plot.plot(x, means, lw=9, alpha=0, **look.style)  # a wide target for the pointer
        plot.plot([last, last + 9 * point], [ends[index], places[index]], lw=0.7, clip_on=False, **look.style)
        plot.text(last + 12 * point, places[index], names[index], **look.name_style)
        marks[index] = look.kind, f"{series.name}: {series.cell(ACC)} % after {section.tasks:,} tasks"
    return Chart(sheet.figure, label, marks)


@matplotlib.rc_context(STYLE)
def cost_chart(section: Section, cost: str, *, alone: bool = False) -> Chart:
    """ACC against a cost, "time" or "memory", on a logarithmic axis: up and to the left is better."""
    name, key, least, words = COSTS[cost]
    label = f"{section.title}: ACC against {cost}"
    width, height = 400, 288
    notes = wrap(section.several_devices, width // 5) if cost == "time" else []
    sheet = _Sheet(width, height, label if alone else "", notes if alone else ())
    plot = sheet.axes(30, 22, width - 44, height - 58)
    costs = {series.index: max(series.summary[key], least) for series in section.series}
    _percent_axis(plot, [(series.mean("acc"), series.deviation("acc")) for series in section.series])
    _cost_axis(plot, list(costs.values()), words)
    plot.set_xlabel(name)
    points = {s.index: plot.transData.transform((costs[s.index], 100 * s.mean("acc"))) for s in section.series}
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in points.values()]
    marks = {}
    for look, series in sorted(((_look(s, section), s) for s in section.series), key=lambda pair: -pair[0].layer):
        x, mean, deviation = costs[look.index], 100 * series.mean("acc"), 100 * series.deviation("acc")
        shape, dot = "s" if series.keeps_exemplars else "o", 6 if look.layer > 3 else 4.5
        if deviation:
            plot.plot([x, x], [mean - deviation, mean + deviation], lw=1.2, **look.style)
        plot.plot([x], [mean], marker=shape, ms=dot, **look.style)
        plot.plot([x], [mean], marker="o", ms=12, alpha=0, **look.style)  # a wide target for the pointer
        short, frame = _short(series.name), plot.get_window_extent()
        place, free = _beside(short, points[look.index], taken, frame, matters=look.layer > 3)
        style = {**look.name_style, "alpha": 1 if free else 0, "textcoords": "offset points"}
        plot.annotate(short, (x, mean), place, **style)
        marks[look.index] = look.kind, f"{series.name}: {series.cell(ACC)} % at {words(x)}"
    return Chart(sheet.figure, label, marks)


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value < 1000 else f"{value:,.0f} s"


def _bytes(value: float) -> str:
    return decimal(round(value)).replace(".0 ", " ")


# The name of the axis, the cost in the summary, the least value to draw, and its unit.
COSTS: dict[str, tuple[str, str, float, Callable[[float], str]]] = {
    "time": ("seconds of learning", "learn_seconds_mean", 0.001, _seconds),
    "memory": ("model and exemplars", "state_bytes", 1.0, _bytes),
}


@matplotlib.rc_context(STYLE)
def matrix_chart(section: Section) -> Chart:
    """R of every method, for files; the page has them as tables."""
    label = f"{section.title}: accuracy matrix R in percent (row: after learning that task; column: on that task)"
    drawn = thinned(section.tasks, MOST_TASKS)
    columns, side = 5, 118
    sheet = _Sheet(columns * side + 8, -(-len(section.series) // columns) * (side + 8), label)
    ticks = thinned(len(drawn), 5)
    for place, series in enumerate(section.series):
        down, across = divmod(place, columns)
        plot = sheet.axes(18 + across * side, 16 + down * (side + 8), side - 18, side - 18)
        R = np.array([[series.accuracy(i, j) if j <= i else np.nan for j in drawn] for i in drawn])
        plot.imshow(R, cmap=SHADES, vmin=0, vmax=1)
        plot.spines[:].set_visible(False)
        plot.set_title(_short(series.name), size=8.5, pad=3, loc="left")
        plot.set_xticks(ticks, [str(drawn[tick] + 1) for tick in ticks], size=7)
        plot.set_yticks(ticks, [str(drawn[tick] + 1) for tick in ticks], size=7)
        for i, j in np.argwhere(~np.isnan(R)) if len(drawn) <= 6 else ():
            plot.text(j, i, f"{100 * R[i, j]:.0f}", ha="center", va="center", size=7, color=ink_on(R[i, j]))
    return Chart(sheet.figure, label)


# Bars of the paper's figures: ours, without exemplars, with exemplars (striped), and the bounds.
OURS, WITHOUT, KEEPING, BOUNDED = HIGHLIGHT, "#a6c8e0", "#f0b482", "#a8a8a8"
STRIPED: Any = {"hatch": "////", "edgecolor": "white", "lw": 0}
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}  # lines pass behind the figures
BAR_NOTES = ("whiskers: one standard deviation over the seeds; dashed line: joint", FEATURES)
ROW, NAMES, GAP, HEAD = 16, 66, 26, 62
TRANSFER = (("bwt", "BWT", "#009e73", "^", -0.18), ("fwt", "FWT", "#cc79a7", "D", 0.18))


@matplotlib.rc_context(STYLE)
def bar_chart(
    sections: Sequence[Section], label: str, *, columns: int, width: float, transfer: bool = False
) -> Chart:
    """ACC of every method as bars, one panel per scenario; with `transfer`, BWT and FWT above them."""
    rows = _order(sections)
    columns = min(columns, len(sections))
    layers = 2 if transfer else -(-len(sections) // columns)
    panel_height = ROW * len(rows) + HEAD
    sheet = _Sheet(NAMES + columns * (width + GAP), layers * panel_height + 34, label, BAR_NOTES)
    for place, section in enumerate(sections):
        down, across = (1, place) if transfer else divmod(place, columns)
        left = NAMES + across * (width + GAP)
        panel = partial(_panel, sheet, left, width, rows, title(section.scenario), named=across == 0)
        if transfer:
            _draw_transfer(panel(40, "BWT and FWT"), section, rows, sections)
        alike = [other for other in sections if _backbone(other) == _backbone(section)]
        _draw_bars(panel(40 + down * panel_height, "ACC %"), section, rows, alike)
    keys: list[Any] = [
        Patch(color=OURS, label="ours"),
        Patch(color=WITHOUT, label="keeps no exemplars"),
        Patch(facecolor=KEEPING, label="keeps exemplars", **STRIPED),
        Patch(color=BOUNDED, label="none: no defence"),
        Patch(facecolor=BOUNDED, label="joint: trained on all data so far", **STRIPED),
    ]
    for _, name, colour, shape, _ in TRANSFER if transfer else ():
        keys.append(Line2D([], [], color=colour, marker=shape, ls="", ms=5, label=name))
    place_of_key = (0, (sheet.bottom + 4) / sheet.height)
    sheet.figure.legend(
        handles=keys, loc="lower left", bbox_to_anchor=place_of_key, ncols=4, frameon=False, fontsize=8
    )
    return Chart(sheet.figure, label)


def _panel(
    sheet: _Sheet, left: float, width: float, rows: Sequence[str], heading: str, top: float, axis: str, *, named: bool
) -> Axes:
    plot = sheet.axes(left, top, width, ROW * len(rows))
    plot.set_ylim(len(rows) - 0.5, -0.5)
    plot.set_yticks(range(len(rows)), rows if named else [""] * len(rows))
    for tick in plot.get_yticklabels():
        tick.set_fontweight("bold" if tick.get_text() == "if2net" else "normal")
    plot.set_title(heading, loc="left", size=9.5, weight="bold", pad=16)
    plot.text(0, 1, axis, transform=plot.transAxes, va="bottom", size=8.5)
    plot.spines["bottom"].set_visible(False)
    plot.grid(axis="x")
    return plot


def _draw_bars(plot: Axes, section: Section, rows: Sequence[str], alike: Sequence[Section]) -> None:
    """Draw ACC; panels of the same backbone have the same scale."""
    most = max(100 * (series.mean("acc") + series.deviation("acc")) for other in alike for series in other.series)
    ticks = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(0, most)
    plot.set_xlim(0, 1.45 * most)
    plot.set_xticks([tick for tick in ticks if tick <= 1.1 * most])
    for series in section.series:
        row, mean, deviation = rows.index(series.name), 100 * series.mean("acc"), 100 * series.deviation("acc")
        plot.barh(row, mean, height=0.66, color=_bar_colour(series), **(STRIPED if series.keeps_exemplars else {}))
        if deviation:
            plot.errorbar(mean, row, xerr=deviation, color=INK, lw=1, capsize=2)
        plot.text(mean + deviation + 0.02 * most, row, series.cell(ACC), va="center", size=8, bbox=ON_WHITE)
        if series.method == "joint":
            plot.axvline(mean, color="#777777", ls=(0, (4, 3)), lw=0.9, zorder=0.5)


def _draw_transfer(plot: Axes, section: Section, rows: Sequence[str], sections: Sequence[Section]) -> None:
    drawn = [(series, key) for other in sections for series in other.series for key, *_ in TRANSFER]
    plot.set_xlim(
        min(series.mean(key) - series.deviation(key) for series, key in drawn) - 0.02,
        max(0.0, *(series.mean(key) + series.deviation(key) for series, key in drawn)) + 0.02,
    )
    plot.axvline(0, color="#777777", lw=0.9)
    for series in section.series:
        for key, _, colour, shape, beside in TRANSFER:
            row, deviation = rows.index(series.name) + beside, series.deviation(key) or None
            plot.errorbar(series.mean(key), row, xerr=deviation, color=colour, marker=shape, ms=4, lw=1, capsize=2)


def _order(sections: Sequence[Section]) -> list[str]:
    """Joint, then the best first: by the mean of ACC over the scenarios that a method was run on."""
    accuracies: dict[str, list[float]] = {}
    for section in sections:
        for series in section.series:
            accuracies.setdefault(series.name, []).append(series.mean("acc"))
    return sorted(accuracies, key=lambda name: (name != "joint", -fmean(accuracies[name])))


def _backbone(section: Section) -> str | None:
    return parse_scenario(section.scenario).backbone


def _bar_colour(series: Series) -> str:
    if series.method in BOUNDS:
        return BOUNDED
    if series.method == "if2net":
        return OURS
    return KEEPING if series.keeps_exemplars else WITHOUT


@dataclass(frozen=True)
class Line:
    """A line of an ablation's figure: means and standard deviations over the seeds."""

    name: str
    means: Sequence[float]
    deviations: Sequence[float]


@matplotlib.rc_context(STYLE)
def line_chart(label: str, x_label: str, y_label: str, places: Sequence[float], lines: Sequence[Line]) -> Chart:
    """A few lines of equal rank, each with a band of one standard deviation; a long axis is logarithmic."""
    sheet = _Sheet(400, 250 + LINE * len(lines), label)
    plot = sheet.axes(38, 22, 346, 192)
    plot.text(0, 1.03, y_label, transform=plot.transAxes)
    plot.set_xscale("log" if places[-1] > 20 * places[0] else "linear")
    plot.xaxis.set_major_locator(FixedLocator(list(places)))
    plot.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    plot.xaxis.set_minor_locator(NullLocator())
    plot.set_xlabel(x_label)
    plot.grid(axis="y")
    for line, colour, marker in zip(lines, COLOURS, 2 * MARKERS, strict=False):
        means, deviations = np.array(line.means), np.array(line.deviations)
        plot.fill_between(places, means - deviations, means + deviations, color=colour, alpha=0.15, lw=0)
        plot.plot(places, means, color=colour, marker=marker, ms=4.5, lw=1.6, label=line.name)
    sheet.figure.legend(loc="lower left", bbox_to_anchor=(0.01, 0.005), frameon=False, fontsize=8.5, labelspacing=0.3)
    return Chart(sheet.figure, label)


Panel = tuple[str, Sequence[Sequence[float]], Sequence[int]]  # a heading, points in the unit square, and their labels


@matplotlib.rc_context(STYLE)
def panel_chart(label: str, rows: Sequence[Sequence[Panel]], heading: str, names: Sequence[str]) -> Chart:
    """Points in the plane, coloured by label. Rows are flush right; the key is in the gap at the bottom left."""
    side, gap, columns = 150, 12, max(map(len, rows))
    sheet = _Sheet(columns * (side + gap) + gap, len(rows) * (side + gap + LINE), label)
    for down, row in enumerate(rows):
        for across, (words, points, labels) in enumerate(row, start=columns - len(row)):
            plot = sheet.axes(gap + across * (side + gap), LINE + down * (side + gap + LINE), side, side)
            plot.set(xticks=[], yticks=[], xlim=(-0.03, 1.03), ylim=(1.03, -0.03))
            plot.spines[:].set_visible(True)
            plot.set_title(words, loc="left", size=8.5, pad=3)
            for label_, (name, colour, marker) in enumerate(zip(names, COLOURS, 2 * MARKERS, strict=False)):
                x, y = np.array(points)[np.array(labels) == label_].T
                plot.plot(x, y, marker, color=colour, ms=2.2, mew=0, alpha=0.8, label=name, rasterized=True)
    key = sheet.figure.legend(
        *plot.get_legend_handles_labels(), title=heading, loc="lower left", ncols=2, fontsize=8, markerscale=2.5
    )
    key.set(frame_on=False)
    key.set_alignment("left")
    return Chart(sheet.figure, label)


def apart(ends: Mapping[int, float], gap: float, low: float, high: float) -> dict[int, float]:
    """Places near the ends of lines, in the same order, between `low` and `high` and at least `gap` apart.

    Pushing all of them up and pushing all of them down both keep the gap; so does the middle between the two.

    >>> apart({0: 50, 1: 50, 2: 90}, 10, 0, 100)
    {0: 45.0, 1: 55.0, 2: 90.0}
    """
    order = sorted(ends, key=lambda name: ends[name])
    steps = gap * np.arange(len(order))
    free = np.array([ends[name] for name in order]) - steps
    up = np.maximum.accumulate(free) + steps
    down = np.minimum.accumulate(free[::-1])[::-1] + steps
    middle = (np.minimum(up, high - steps[::-1]) + np.maximum(down, low + steps)) / 2
    return dict(zip(order, middle.tolist(), strict=True))


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _percent_axis(plot: Axes, pairs: Iterable[tuple[float, float]]) -> None:
    """An axis in percent around pairs of mean and deviation, from and to round figures at least ten points apart."""
    ends = [100 * min(max(mean + sign * deviation, 0), 1) for mean, deviation in pairs for sign in (-1, 1)]
    half = max(5.0, (max(ends) - min(ends)) / 2)
    middle = min(max((min(ends) + max(ends)) / 2, half), 100 - half)
    locator = MaxNLocator(5, steps=[1, 2, 5, 10])
    ticks = [tick for tick in locator.tick_values(middle - half, middle + half) if 0 <= tick <= 100]
    plot.set_ylim(min(ticks[0], middle - half), max(ticks[-1], middle + half))
    plot.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    plot.grid(axis="y")
    plot.annotate("ACC %", (0, 1), (-26, 8), xycoords="axes fraction", textcoords="offset points")


def _cost_axis(plot: Axes, values: Sequence[float], words: Callable[[float], str]) -> None:
    """A logarithmic axis that spans at least a power of ten."""
    room = max(1.6, (10 * min(values) / max(values)) ** 0.5)
    plot.set_xscale("log")
    plot.set_xlim(min(values) / room, max(values) * room)
    wide = max(values) / min(values) * room**2 > 100
    plot.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=6))
    plot.xaxis.set_major_formatter(FuncFormatter(lambda value, _: words(value)))
    plot.xaxis.set_minor_locator(NullLocator())


def _beside(
    name: str, point: np.ndarray, taken: list[Bbox], frame: Bbox, *, matters: bool
) -> tuple[tuple[float, float], bool]:
    """Where a name stands beside its point, and whether there is room for it; without room it is hidden."""
    (x, y), room = point, 5.4 * len(name)
    right, left, middle = 7.0, -7.0 - room, -room / 2
    places = [(right, 0.0), (left, 0.0), (middle, 10.0), (middle, -10.0)]
    if matters:
        places += [(across, up) for up in (9.0, -9.0, 19.0, -19.0) for across in (right, left, middle)]
    for across, up in places:
        box = Bbox.from_bounds(x + across, y + up - 5, room, 10)
        inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1 + 8
        if inside and not box.count_overlaps(taken):
            taken.append(box)
            return (across, up), True
    return (left if x + right + room > frame.x1 else right, 0.0), False
