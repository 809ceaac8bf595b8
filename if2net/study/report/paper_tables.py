"""The paper's comparisons as tables in markdown, ours beside what the paper prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from if2net.study.bench.display import COSTS, costs, markdown, spread
from if2net.study.bench.reproduce import paper_figures
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS
from if2net.study.report.gather import Section, Series
from if2net.study.report.naming import title
from if2net.study.report.tables import COLUMNS, best_by, leaders

Printed = dict[str, dict[str, Any]]  # what the paper prints of a task sequence, by method
NOTE = "Bold: the best of a column, `joint` left aside: it is trained on all data so far at once."
ACC, BWT, FWT = COLUMNS[:3]
# Every task has features of its own here: a loss over its own classes is the only one there is.
BRANCHED = ("eft", "pcl")


def beside_the_paper(name: str, sections: Sequence[Section]) -> str:
    """The form of the paper's first table: the three metrics beside the paper's, one section a dataset."""
    results = [source.results for section in sections for source in section.sources]
    found = []
    for dataset, figures in paper_figures(name).items():
        mine = [entry for entry in results if parse_scenario(entry["scenario"]).dataset == dataset]
        rows = [row for entry in mine for row in _rows(entry, figures)]
        if rows:
            found.append(f"### {mine[0]['scenario']}\n\n{markdown(BESIDE, rows, words=2)}")
    return "\n\n".join(found)


BESIDE = ("method", "protocol", "ACC %", "paper", "BWT", "paper", "FWT", "paper", *COSTS)


def _rows(results: dict[str, Any], figures: Printed) -> list[list[str]]:
    rows = []
    for label, entry in results["summary"].items():
        method, _, variant = label.partition(" (")
        scope = results["settings"].get(method, {}).get("scope", "seen")
        own = "" if scope == "seen" or method in BRANCHED else "loss over the current task's classes"
        protocol = ", ".join(part for part in (results["protocol"], variant.removesuffix(")"), own) if part)
        printed = figures.get(method, {})
        cells = [method, protocol]
        for key, factor, digits in (("acc", 100, 2), ("bwt", 1, 3), ("fwt", 1, 3)):
            mean, deviation = factor * entry[f"{key}_mean"], factor * entry[f"{key}_std"]
            cells.append(spread(mean, deviation, digits, int(entry["runs"])))
            cells.append(f"{printed[key]:.{digits}f}" if key in printed else "")
        rows.append([*cells, *costs(entry)])
    return rows


def after_each_task(section: Section, printed: Printed) -> str:
    """The form of the paper's table of CIFAR: ACC on the tasks seen so far, with the paper's row under ours."""
    best = [leaders(section.series, _after(task)) for task in range(section.tasks)]
    rows = []
    for series in section.series:
        means, deviations = ([100 * value for value in part] for part in series.curve)
        cells = [f"{mean:.2f}" for mean in means[:-1]]
        cells.append(spread(means[-1], deviations[-1], 2, int(series.summary["runs"])))
        marked = [_bold(cell, series.name in names) for cell, names in zip(cells, best, strict=True)]
        rows.append([series.name, f"{series.summary['exemplars']:,}", *marked])
        if series.method in printed:
            rows.append(
                [f"*{series.name}, paper*", "", *(f"{value:.2f}" for value in printed[series.method]["curve"])]
            )
    return markdown(["method", "exemplars", *map(str, range(1, section.tasks + 1))], rows)


def _after(task: int) -> Callable[[Series], float]:
    return lambda series: series.curve[0][task]


def summary(section: Section) -> str:
    """The three metrics and what they cost."""
    columns = (ACC, BWT, FWT)
    best = [best_by(section.series, column.key) for column in columns]
    rows = [
        [
            series.name,
            *(_bold(column.cell(series), series.name in names) for column, names in zip(columns, best, strict=True)),
            *costs(series.summary),
        ]
        for series in section.series
    ]
    return markdown(["method", *(column.heading for column in columns), *COSTS], rows)


def across(sections: Sequence[Section], name: str = "") -> str:
    """ACC of every method in every scenario; what the paper prints under that name has columns of its own."""
    printed = {key: figures for section in sections for key, figures in _sequences(name, section).items()}
    columns = [{entry.name: entry for entry in section.series} for section in sections]
    best = [best_by(section.series, ACC.key) for section in sections]
    rows = []
    for method in _names(sections):
        found = [column.get(method) for column in columns]
        mine = [
            _bold(ACC.cell(entry), method in names) if entry else "" for entry, names in zip(found, best, strict=True)
        ]
        theirs = [_printed(figures.get(method, {})) for figures in printed.values()]
        rows.append([method, _kept(entry for entry in found if entry), *mine, *theirs])
    headings = [title(section.scenario) for section in sections] + [f"paper: {sequence}" for sequence in printed]
    return markdown(["method", "exemplars", *headings], rows, words=2)


def _names(sections: Sequence[Section]) -> list[str]:
    found = dict.fromkeys(entry.name for section in sections for entry in section.series)
    order = {name: place for place, name in enumerate(METHODS)}
    return sorted(found, key=lambda name: order.get(name, len(order)))


def _kept(series: Iterable[Series]) -> str:
    """Their number differs from scenario to scenario."""
    entries = list(series)
    if any(entry.method == "joint" for entry in entries):
        return "all data"
    return "yes" if any(entry.keeps_exemplars for entry in entries) else "no"


def _printed(figures: dict[str, float]) -> str:
    return f"{figures['acc']:.2f} ± {figures['acc_std']:.2f}" if figures else ""


def _bold(cell: str, best: bool) -> str:
    return f"**{cell}**" if best else cell


def margins(name: str, sections: Sequence[Section]) -> str:
    """Where the paper prints no figures: how far ahead it says that IF2Net is, and how far it is here."""
    ((sequence, figures),) = paper_figures(name).items()
    over, points = figures["margin"]["over"], figures["margin"]["points"]
    here = []
    for section in sections:
        found = {entry.name: entry.summary["acc_mean"] for entry in section.series}
        if {"if2net", over} <= set(found):
            here.append(f"{100 * (found['if2net'] - found[over]):+.2f} in {title(section.scenario)}")
    said = f"The paper prints no figures here; it says that IF2Net is {points:+.2f} points of ACC over {over}, "
    return f"{said}the second best ({sequence}). Here: {'; '.join(here) or 'not run'}."


def printed_of(name: str, section: Section) -> Printed:
    """What the paper prints of the task sequence with as many classes and tasks; nothing, where it prints nothing."""
    return next(iter(_sequences(name, section).values()), {})


def _sequences(name: str, section: Section) -> dict[str, Printed]:
    scenario = parse_scenario(section.scenario)
    ending = f"-{scenario.classes}/{scenario.tasks}"
    return {sequence: figures for sequence, figures in paper_figures(name).items() if sequence.endswith(ending)}
