"""report.html: one self-contained page over one or several results."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from if2net.files import make_folder
from if2net.study.report import palette
from if2net.study.report.devices import several_devices
from if2net.study.report.figures import ELSEWHERE, charts, maps
from if2net.study.report.gather import Section, Source, sections
from if2net.study.report.heat import MOST_TASKS
from if2net.study.report.origin import glance, origin
from if2net.study.report.svg import sample
from if2net.study.report.tables import (
    MOST_CLASSES,
    class_table,
    confusion_table,
    has_single_head,
    overview_table,
    summary_table,
)

CAPTIONS = {
    "accuracy": "Accuracy on all tasks seen so far, ± one standard deviation",
    "time": "Accuracy against learning time",
    "memory": "Accuracy against memory kept between tasks",
}
SINGLE_HEAD_NOTE = (
    '<aside id="single-head"><h2>Why EWC is at 20 %</h2><p>EWC, MAS and SI keep no data and have one output layer '
    "for all classes. While a task is learned, every sample belongs to its classes, so the surest way to lower "
    "the loss is never to answer with an old class. A penalty on moving important weights slows that down, but "
    "nothing in it compares old classes with new ones. In the end the classes of the last task win for almost "
    "every sample, and of T equal tasks one is right: about 100/T %, that is 20 % with five tasks. These methods "
    "were made for tasks whose number is told at test time; a low figure here is no error of the run.</p></aside>"
)


def write_report(results: dict[str, Any], folder: Path) -> Path:
    """Write report.html beside the results."""
    return write_page(sections([Source(folder.name, results)]), folder)


def write_page(found: Sequence[Section], folder: Path) -> Path:
    make_folder(folder, ELSEWHERE)
    path = folder / "report.html"
    path.write_text(render(found), encoding="utf-8")
    return path


def render(found: Sequence[Section]) -> str:
    title = found[0].title if len(found) == 1 else f"{len(found)} results of if2net"
    body = [_section(section, place) for place, section in enumerate(found)]
    if len(found) > 1:
        body.insert(0, _contents(title, found))
    if any(has_single_head(section) for section in found):
        body.append(SINGLE_HEAD_NOTE)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_asset('style.css')}{palette.style()}</style></head>"
        f"<body>{''.join(body)}<script>{_asset('page.js')}</script></body></html>"
    )


def _asset(name: str) -> str:
    return (files("if2net.study.report") / name).read_text(encoding="utf-8")


def _contents(title: str, found: Sequence[Section]) -> str:
    links = "".join(
        f'<li><a href="#section-{place}">{escape(section.title)}</a></li>' for place, section in enumerate(found)
    )
    return (
        f"<header><h1>{title}</h1><p>Only figures of the same protocol may be compared.</p>"
        f"<nav><ul>{links}</ul></nav>{overview_table(found)}</header>"
    )


def _section(section: Section, place: int) -> str:
    parts = [
        f'<section id="section-{place}">',
        glance(section),
        "<h2>Summary</h2>",
        summary_table(section),
        '<p class="soft">Mean ± standard deviation over the seeds; ★: the best of its column, joint training aside, '
        "which has all data at once. ACC: accuracy on all tasks after the last. BWT: 0 is forgetting-free. FWT: "
        "against a model of each task alone. Incremental: ACC averaged over the stream.</p>",
        _devices(section),
        "<h2>Figures</h2>",
        _key(section),
        '<div class="charts">',
        *(
            _figure(
                CAPTIONS[figure.name],
                section,
                figure.drawing.inline() + (_devices(section) if figure.name == "time" else ""),
            )
            for figure in charts(section)
        ),
        "</div>",
        "<h2>Accuracy matrix R</h2>",
        f'<p class="soft">Row: after learning this task. Column: accuracy on that task, in percent, mean over the '
        f"seeds. Nothing is forgotten where a column keeps its shade downwards.{_thinned(section)}</p>",
        '<div class="maps">',
        *(
            _figure(series.name, section, figure.drawing.inline(), f' data-mark="{series.mark}"')
            for series, figure in maps(section)
        ),
        "</div>",
        _classes(section),
        origin(section),
        "</section>",
    ]
    return "".join(parts)


def _devices(section: Section) -> str:
    said = several_devices(section)
    return f'<p class="soft">{escape(said)}</p>' if said else ""


def _figure(caption: str, section: Section, drawing: str, attributes: str = "") -> str:
    badge = f'<span class="badge {section.protocol}">{escape(section.protocol)}</span>'
    return f"<figure{attributes}><figcaption>{escape(caption)} {badge}</figcaption>{drawing}</figure>"


def _key(section: Section) -> str:
    """The key, which is also the switches of the methods where there is JavaScript."""
    entries = "".join(
        f'<label><input type="checkbox" checked autocomplete="off" data-switch="{series.mark}">'
        f'<svg class="{palette.colour_class(series.mark)}" viewBox="0 0 26 16" aria-hidden="true">'
        f"{sample(series.mark)}</svg>{escape(series.name)}</label>"
        for series in section.series
    )
    buttons = '<button type="button" data-all="1">all</button><button type="button" data-all="">none</button>'
    return f'<div class="key">{entries}{buttons if len(section.series) > 1 else ""}</div>'


def _thinned(section: Section) -> str:
    if section.tasks <= MOST_TASKS:
        return ""
    return f" Of {section.tasks:,} tasks {MOST_TASKS} are drawn, evenly chosen; the tables count all."


def _classes(section: Section) -> str:
    classes = class_table(section)
    if not classes:
        return (
            '<h2>Classes</h2><p class="soft">These results are older than the record of confusions; '
            "run them again to see the accuracy on each class here.</p>"
        )
    return (
        f'<h2>Accuracy on each class</h2><p class="soft">In percent, after the last task, over all seeds. Where '
        f"there are more than {MOST_CLASSES} classes, the hardest are shown.</p>{classes}<h2>Worst confusions</h2>"
        '<p class="soft">True class → the class it was taken for: share of the true class’s test samples.</p>'
        f"{confusion_table(section)}"
    )
