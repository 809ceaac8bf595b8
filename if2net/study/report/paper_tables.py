"""The files that `if2net reproduce` writes for each comparison, the paper's and our own: table.md, and figures.

A table is markdown, ours beside the figures that the paper prints. FORMS says how each comparison is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

from if2net.encoder import INNATE
from if2net.files import write_text
from if2net.study.bench.display import ACC, BWT, COSTS, FWT, costs, markdown, spread
from if2net.study.bench.experiments import EXPERIMENTS
from if2net.study.bench.paper import paper_figures
from if2net.study.bench.results import Results
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS
from if2net.study.report.charts import Chart, Line, accuracy_chart, bar_chart, line_chart, save
from if2net.study.report.gather import Section, Series, Source, read_sources, sections_of, title

PIXELS = 1400  # the width of a PNG file: sharp on a page
Printed = dict[str, dict[str, Any]]  # the paper's figures for a task sequence, by method
# In networks with features for each task, a loss over the task's own classes is the only one there is.
BRANCHED = ("eft", "pcl")
ABSENT = (nan, nan)  # a mean and a deviation that are not drawn
BESIDE = ("method", "protocol", "ACC %", "paper", "BWT", "paper", "FWT", "paper", *COSTS)
NOTE = "Bold: the highest ACC, the bounds `none` and `joint` left aside."
# The table there has two data sets, and a reader must see which one a number belongs to.
NOT_THE_SAME = (
    "**Tiny-ImageNet is not ImageNet-Subset**: it has other photographs, of 64 × 64 pixels. The paper's columns are "
    "of ImageNet-Subset; no figure on one side can be compared with a figure on the other."
)
# ACC in percent on CIFAR-100 by the number of tasks, class-incremental, from nothing and without exemplars, as the
# authors of other methods have published it; not run here. Where they give several figures, the highest.
PUBLISHED = {
    "CIRCLE": {10: 45.3, 20: 45.3, 50: 45.3, 100: 45.3},
    "EFC++": {10: 52.7, 100: 16.4},
    "APR": {10: 57.9},
}


@dataclass(frozen=True)
class Form:
    """How a comparison is shown: the head of its table, and its figures by the names of their files."""

    head: Callable[[str, Sequence[Section]], str]
    figures: Mapping[str, Callable[[Sequence[Section]], Chart]] = field(default_factory=dict)

    def table(self, name: str, sections: Sequence[Section]) -> str:
        """The content of table.md; for images with all metrics and costs."""
        parts = [self.head(name, sections)]
        if self.figures:
            for section in sections:
                seen = f"The backbone was trained on {section.trained_on}." if section.trained_on else ""
                parts += [f"### {title(section.scenario)}", summary(section), section.several_devices, seen]
            parts.append(NOTE)
        return "\n\n".join(part for part in parts if part)


def write(name: str, results: Sequence[Results], folder: Path) -> list[Path]:
    """Write table.md, then the figures. Methods, seeds and scenarios that have not been run yet are left out."""
    form, sections = FORMS[name], gathered(results)
    table = folder / "table.md"
    write_text(table, form.table(name, sections) + "\n")
    drawn = [save(draw(sections), folder / file, PIXELS) for file, draw in form.figures.items()]
    return [table, *(path for paths in drawn for path in paths)]


def read(name: str, folder: Path) -> list[Results]:
    """Read the results of a comparison that the folder holds, in the comparison's order."""
    parts = [folder / part.folder for part in EXPERIMENTS[name].parts]
    return [source.results for part in parts if part.exists() for source in read_sources([part])]


def gathered(results: Sequence[Results]) -> list[Section]:
    """The sections of some results, without those that have no run yet."""
    return sections_of([Source("", entry) for entry in results if entry.runs])


def beside_the_paper(name: str, sections: Sequence[Section]) -> str:
    """The form of the paper's first table: the three metrics beside the paper's, one part per dataset."""
    results = [source.results for section in sections for source in section.sources]
    parts = []
    for dataset, printed in paper_figures(name).items():
        mine = [entry for entry in results if parse_scenario(entry.scenario).dataset == dataset]
        rows = [_beside(entry, label, printed) for entry in mine for label in entry.methods()]
        if rows:
            parts.append(f"### {mine[0].scenario}\n\n{markdown(BESIDE, rows, words=2)}")
    return "\n\n".join(parts)


def _beside(results: Results, label: str, figures: Printed) -> list[str]:
    entry, run = results.summary[label], results.of(label)[0]
    scope = results.settings.get(run.method, {}).get("scope", "seen")
    loss = "" if scope == "seen" or run.method in BRANCHED else "loss over the current task's classes"
    printed = figures.get(run.method, {})
    cells = [run.method, ", ".join(part for part in (results.protocol, run.variant, loss) if part)]
    for key, factor, digits in (("acc", 100, 2), ("bwt", 1, 3), ("fwt", 1, 3)):
        mean, deviation = factor * entry[f"{key}_mean"], factor * entry[f"{key}_std"]
        cells.append(spread(mean, deviation, digits, int(entry["runs"])))
        cells.append(f"{printed[key]:.{digits}f}" if key in printed else "")
    return [*cells, *costs(entry)]


def after_each_task(section: Section, printed: Printed) -> str:
    """The form of the paper's table of CIFAR: ACC on the tasks seen so far, with the paper's row under ours."""
    best = [section.leaders(task) for task in range(section.tasks)]
    rows = []
    for series in section.series:
        means, deviations = ([100 * value for value in part] for part in series.curve)
        cells = [f"{mean:.2f}" for mean in means[:-1]]
        cells.append(spread(means[-1], deviations[-1], 2, len(series.runs)))
        marked = [_bold(cell, series.name in names) for cell, names in zip(cells, best, strict=True)]
        rows.append([series.name, f"{series.summary['exemplars']:,}", *marked])
        if series.method in printed:
            paper = [f"{value:.2f}" for value in printed[series.method]["curve"]]
            rows.append([f"*{series.name}, paper*", "", *paper])
    return markdown(["method", "exemplars", *map(str, range(1, section.tasks + 1))], rows)


def summary(section: Section) -> str:
    """The three metrics and the costs."""
    best = section.leaders()
    rows = []
    for series in section.series:
        metrics = _bold(series.cell(ACC), series.name in best), series.cell(BWT), series.cell(FWT)
        rows.append([series.name, *metrics, *costs(series.summary)])
    return markdown(["method", ACC.heading, BWT.heading, FWT.heading, *COSTS], rows)


def across(sections: Sequence[Section], name: str = "") -> str:
    """ACC of every method in every scenario; figures that the paper prints under that name have their own columns."""
    printed = {key: figures for section in sections for key, figures in _sequences(name, section).items()}
    columns = [{entry.name: entry for entry in section.series} for section in sections]
    best = [section.leaders() for section in sections]
    rows = []
    for method in _names(sections):
        entries = [column.get(method) for column in columns]
        cells = zip(entries, best, strict=True)
        mine = [_bold(entry.cell(ACC), method in names) if entry else "" for entry, names in cells]
        theirs = [_printed(figures.get(method, {})) for figures in printed.values()]
        rows.append([method, _kept(entry for entry in entries if entry), *mine, *theirs])
    headings = [title(section.scenario) for section in sections] + [f"paper: {sequence}" for sequence in printed]
    return markdown(["method", "exemplars", *headings], rows, words=2)


def margins(name: str, sections: Sequence[Section]) -> str:
    """Where the paper prints no figures: how far ahead it says that IF2Net is, and how far it is here."""
    ((sequence, figures),) = paper_figures(name).items()
    over, points = figures["margin"]["over"], figures["margin"]["points"]
    here = []
    for section in sections:
        means = {series.name: series.mean("acc") for series in section.series}
        if {"if2net", over} <= set(means):
            here.append(f"{100 * (means['if2net'] - means[over]):+.2f} in {title(section.scenario)}")
    claim = f"The paper prints no figures here; it says that IF2Net is {points:+.2f} points of ACC over "
    return f"{claim}{over.upper()}, the second best ({sequence}). Here: {'; '.join(here) or 'not run'}."


def introduction(sections: Sequence[Section]) -> str:
    """
    >>> introduction([Section("digits-10/5", "agnostic", [], [])])
    'Agnostic protocol.'
    """
    counts = sorted({len(series.runs) for section in sections for series in section.series})
    protocol = f"{sections[0].protocol.capitalize()} protocol"
    if not counts or counts[-1] == 1:
        return f"{protocol}."
    seeds = f"{counts[-1]} seeds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    return f"{protocol}, mean ± standard deviation over {seeds}."


def _names(sections: Sequence[Section]) -> list[str]:
    names = dict.fromkeys(series.name for section in sections for series in section.series)
    order = {name: place for place, name in enumerate(METHODS)}
    return sorted(names, key=lambda name: order.get(name, len(order)))


def _kept(series: Iterable[Series]) -> str:
    """Whether exemplars are kept. Their number differs from scenario to scenario."""
    entries = list(series)
    if any(entry.method == "joint" for entry in entries):
        return "all data"
    return "yes" if any(entry.keeps_exemplars for entry in entries) else "no"


def _printed(figures: dict[str, float]) -> str:
    return f"{figures['acc']:.2f} ± {figures['acc_std']:.2f}" if figures else ""


def _bold(cell: str, best: bool) -> str:
    return f"**{cell}**" if best else cell


def _sequences(name: str, section: Section) -> dict[str, Printed]:
    """The paper's task sequences with as many classes and tasks, each with the figures printed for it."""
    scenario = parse_scenario(section.scenario)
    ending = f"-{scenario.classes}/{scenario.tasks}"
    return {sequence: figures for sequence, figures in paper_figures(name).items() if sequence.endswith(ending)}


def _every_task(name: str, sections: Sequence[Section]) -> str:
    tables = [after_each_task(section, next(iter(_sequences(name, section).values()), {})) for section in sections]
    return "\n\n".join([f"ACC % on the tasks seen so far, after each task. {introduction(sections)}", *tables])


def _beside_another_dataset(name: str, sections: Sequence[Section]) -> str:
    return "\n\n".join([f"ACC %. {introduction(sections)}", NOT_THE_SAME, across(sections, name)])


def _with_margins(name: str, sections: Sequence[Section]) -> str:
    return f"{introduction(sections)}\n\n{margins(name, sections)}"


def _across(_: str, sections: Sequence[Section]) -> str:
    return f"ACC %. {introduction(sections)}\n\n{across(sections)}"


def _by_encoder(_: str, sections: Sequence[Section]) -> str:
    """One table per encoder: ACC of each method on each stream."""
    groups: dict[str, list[Section]] = {}
    for section in sections:
        groups.setdefault(_encoder(section), []).append(section)
    tables = [f"### {name}\n\n{across(group)}" for name, group in groups.items()]
    published = "; ".join(f"{method} {_as_published(figures)}" for method, figures in PUBLISHED.items())
    note = (
        f"On CIFAR-100, from nothing and without exemplars, others have published at best {published}; not run here."
    )
    return "\n\n".join([f"ACC % after the last task. {introduction(sections)}", *tables, note])


def _as_published(figures: Mapping[int, float]) -> str:
    """
    >>> _as_published({10: 45.3, 20: 45.3}), _as_published({10: 52.7, 100: 16.4})
    ('45.3 with 10 to 20 tasks', '52.7 with 10 tasks, 16.4 with 100 tasks')
    """
    first, *others = figures
    if others and len(set(figures.values())) == 1:
        return f"{figures[first]} with {first} to {others[-1]} tasks"
    return ", ".join(f"{acc} with {tasks} tasks" for tasks, acc in figures.items())


def _encoder(section: Section) -> str:
    """The network that computes the features of a section; "pixels" where there is none."""
    return (parse_scenario(section.scenario).backbone or "pixels").partition(",")[0]


def _by_number_of_tasks(sections: Sequence[Section]) -> Chart:
    """ACC of IF2Net on CIFAR-100 by the number of tasks, for each innate encoder, and published figures."""
    ours: dict[str, dict[int, Series]] = {}
    for section in sections:
        if parse_scenario(section.scenario).dataset == "cifar100" and _encoder(section) in INNATE:
            for series in section.series:
                if series.name == "if2net":
                    ours.setdefault(f"if2net, {_encoder(section)}", {})[section.tasks] = series
    places = sorted({*next(iter(PUBLISHED.values())), *(tasks for by_tasks in ours.values() for tasks in by_tasks)})
    lines = []
    for name, by_tasks in ours.items():
        pairs = [(by_tasks[n].mean("acc"), by_tasks[n].deviation("acc")) if n in by_tasks else ABSENT for n in places]
        lines.append(Line(name, [100 * mean for mean, _ in pairs], [100 * deviation for _, deviation in pairs]))
    for name, figures in PUBLISHED.items():
        lines.append(Line(f"{name}, as published", [figures.get(n, nan) for n in places], [0.0] * len(places)))
    label = "CIFAR-100 by the number of tasks, agnostic protocol: ACC after the last task"
    return line_chart(label, "tasks that the 100 classes are cut into", "ACC %", places, lines)


def _curves(sections: Sequence[Section]) -> Chart:
    heading = f"{title(sections[0].scenario)}, {sections[0].protocol} protocol"
    return accuracy_chart(sections[0], alone=True, width=560, heading=heading)


def _bars(sections: Sequence[Section], *, columns: int, width: float, transfer: bool = False) -> Chart:
    shown = "ACC after the last task, below; BWT and FWT, above" if transfer else "ACC after the last task"
    dataset = title(sections[0].scenario).rpartition("-")[0]
    label = f"{dataset}, {sections[0].protocol} protocol: {shown}"
    return bar_chart(sections, label, columns=columns, width=width, transfer=transfer)


FORMS = {  # by the names of EXPERIMENTS
    "table-mnist": Form(beside_the_paper),
    "table-cifar": Form(_every_task, {"curves.svg": _curves}),
    "figure-cifar": Form(lambda _, sections: introduction(sections), {"curves.svg": _curves}),
    "table-imagenet-subset": Form(_beside_another_dataset, {"bars.svg": partial(_bars, columns=3, width=210)}),
    "figure-cub": Form(_with_margins, {"bars.svg": partial(_bars, columns=2, width=280)}),
    "photographs": Form(_across),
    "figure-dogs": Form(_with_margins, {"bars.svg": partial(_bars, columns=2, width=280, transfer=True)}),
    "innate": Form(_by_encoder, {"tasks.svg": _by_number_of_tasks}),
}
