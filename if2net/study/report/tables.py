"""The tables of the page as HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from if2net.study.bench.display import COSTS, costs, spread
from if2net.study.report.classes import class_accuracies, hardest, worst_confusions
from if2net.study.report.gather import Section, Series
from if2net.study.report.palette import shade_class

MOST_CLASSES = 30  # columns; beyond, the hardest classes are shown
WIDE = 15  # columns; beyond, they are set smaller in print
MOST_CONFUSIONS = 5
# One output layer for all classes, and nothing that compares those of the newest task with the old ones.
SINGLE_HEAD = ("none", "nn-rw", "ewc", "ol-ewc", "mas", "si")


@dataclass(frozen=True)
class Column:
    """A figure of the summary, of which more is better: its heading, key, factor and digits."""

    heading: str
    key: str
    factor: int
    digits: int

    def cell(self, series: Series) -> str:
        mean, deviation = (self.factor * series.summary[f"{self.key}_{kind}"] for kind in ("mean", "std"))
        return spread(mean, deviation, self.digits, int(series.summary["runs"]))


COLUMNS = (
    Column("ACC %", "acc", 100, 2),
    Column("BWT", "bwt", 1, 4),
    Column("FWT", "fwt", 1, 4),
    Column("incremental %", "average_incremental", 100, 2),
)


def summary_table(section: Section) -> str:
    """Mean ± standard deviation over the seeds, with the best of each column in bold."""
    best = {column.key: best_by(section.series, column.key) for column in COLUMNS}
    rows = []
    for series in section.series:
        cells = [_figure(column, series, best[column.key]) for column in COLUMNS]
        rows.append([_name(series, section), *cells, *(f"<td>{cost}</td>" for cost in costs(series.summary))])
    return table(["method", *(column.heading for column in COLUMNS), *COSTS], rows, "summary")


def _figure(column: Column, series: Series, best: set[str]) -> str:
    marked = ' class="best"' if series.name in best else ""
    return f"<td{marked}>{column.cell(series)}</td>"


def best_series(section: Section) -> Series:
    names = best_by(section.series, "acc")
    return next(series for series in section.series if series.name in names)


def best_by(series: Sequence[Series], key: str) -> set[str]:
    return leaders(series, lambda entry: entry.summary[f"{key}_mean"])


def leaders(series: Sequence[Series], value: Callable[[Series], float]) -> set[str]:
    """Who has the highest value. Joint training has all data at once: it is the bound, not a competitor."""
    competing = [entry for entry in series if entry.method != "joint"] or series
    highest = max(value(entry) for entry in competing)
    return {entry.name for entry in competing if value(entry) == highest}


def has_single_head(section: Section) -> bool:
    return section.tasks > 1 and any(_forgets_all(series) for series in section.series)


def _forgets_all(series: Series) -> bool:
    """A loss over the classes of the current task alone leaves the old ones in peace: then nothing is sure."""
    return series.method in SINGLE_HEAD and series.settings.get("scope", "seen") == "seen"


def _name(series: Series, section: Section) -> str:
    note = ""
    if _forgets_all(series) and section.tasks > 1:
        note = f'<a class="note" href="#single-head">about {100 / section.tasks:.3g} % at most is expected</a>'
    return f'<th scope="row">{escape(series.name)}{note}</th>'


def class_table(section: Section) -> str:
    """Accuracy on each class after the last task, shaded; empty where no run has recorded it."""
    found = {series.name: class_accuracies(series.confusions) for series in section.series}
    known = {name: accuracies for name, accuracies in found.items() if accuracies}
    if not known:
        return ""
    classes = hardest(list(known.values()), MOST_CLASSES)
    rows = [
        [f'<th scope="row">{escape(name)}</th>', *(_shaded(accuracies.get(label)) for label in classes)]
        for name, accuracies in known.items()
    ]
    kind = "shaded wide" if len(classes) > WIDE else "shaded"
    return table(["class", *map(str, classes)], rows, kind)


def confusion_table(section: Section) -> str:
    """The largest shares of a class that were taken for another."""
    rows = []
    for series in section.series:
        worst = worst_confusions(series.confusions, MOST_CONFUSIONS)
        cells = [f"<td>{true} → {taken}: {100 * share:.1f} %</td>" for true, taken, share in worst]
        cells += ["<td></td>"] * (MOST_CONFUSIONS - len(cells))
        rows.append([f'<th scope="row">{escape(series.name)}</th>', *cells])
    return table(["method", "worst", *(f"{place}." for place in range(2, MOST_CONFUSIONS + 1))], rows)


def overview_table(sections: Sequence[Section]) -> str:
    """ACC of every method in every section, with the best of each section in bold."""
    names = list(dict.fromkeys(series.name for section in sections for series in section.series))
    cells = [_accuracies(section) for section in sections]
    rows = [
        [f'<th scope="row">{escape(name)}</th>', *(column.get(name, "<td></td>") for column in cells)]
        for name in names
    ]
    return table(["ACC %", *(section.title for section in sections)], rows, "summary")


def _accuracies(section: Section) -> dict[str, str]:
    best = best_by(section.series, "acc")
    return {series.name: _figure(COLUMNS[0], series, best) for series in section.series}


def table(headings: Iterable[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML already; headings are not."""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    named = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll" tabindex="0"><table{named}><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _shaded(value: float | None) -> str:
    return "<td></td>" if value is None else f'<td class="{shade_class(value)}">{100 * value:.1f}</td>'
