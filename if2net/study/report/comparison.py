"""What `if2net reproduce` leaves behind for each of the paper's comparisons: table.md, and figures as SVG and PNG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from if2net.study.bench.experiments import TABLES
from if2net.study.bench.results import trained_on
from if2net.study.report.devices import several_devices
from if2net.study.report.figures import save
from if2net.study.report.gather import Section, Source, read_sources, sections
from if2net.study.report.labelled import curves
from if2net.study.report.naming import title
from if2net.study.report.panels import bars, bars_and_transfer
from if2net.study.report.paper_tables import (
    NOTE,
    across,
    after_each_task,
    beside_the_paper,
    margins,
    printed_of,
    summary,
)
from if2net.study.report.svg import Drawing

PIXELS = 1400  # the width of a PNG file: sharp on a page
# Two datasets stand in one table there; whoever reads a number must see which it is of.
NOT_THE_SAME = (
    "**Tiny-ImageNet is not ImageNet-Subset**: it has other photographs, of 64 × 64 pixels. The paper's columns are "
    "of ImageNet-Subset; no figure on one side can be compared with a figure on the other."
)


@dataclass(frozen=True)
class Form:
    """How a comparison is shown: what is special to its table, and its figures by the names of their files."""

    words: Callable[[str, Sequence[Section]], str]
    figures: Mapping[str, Callable[[Sequence[Section]], Drawing]] = field(default_factory=dict)

    def table(self, name: str, found: Sequence[Section]) -> str:
        """What table.md holds; for images also all metrics and costs."""
        parts = [self.words(name, found)]
        if self.figures:
            for section in found:
                heading = f"### {title(section.scenario)}"
                parts += [heading, summary(section), several_devices(section), _trained_on(section)]
            parts.append(NOTE)
        return "\n\n".join(part for part in parts if part)


def _trained_on(section: Section) -> str:
    said = dict.fromkeys(filter(None, (trained_on(source.results) for source in section.sources)))
    return f"The backbone was trained on {'; '.join(said)}." if said else ""


def write(name: str, results: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """table.md first, then the figures. Methods, seeds and scenarios that have not been run yet are left out."""
    form, found = FORMS[name], gathered(results)
    table = folder / "table.md"
    table.write_text(form.table(name, found) + "\n", encoding="utf-8")
    drawn = [save(draw(found).alone(), folder / file, PIXELS) for file, draw in form.figures.items()]
    return [table, *(path for paths in drawn for path in paths)]


def read(name: str, folder: Path) -> list[dict[str, Any]]:
    """What the folder holds of a comparison, in the comparison's order."""
    parts = [folder / part.folder for part in TABLES[name][1]()]
    return [source.results for part in parts if part.exists() for source in read_sources([part])]


def gathered(results: Sequence[dict[str, Any]]) -> list[Section]:
    return sections([Source("", entry) for entry in results if entry["runs"]])


def introduction(found: Sequence[Section]) -> str:
    """
    >>> introduction([Section("digits-10/5", "agnostic", [], [])])
    'Agnostic protocol.'
    """
    counts = sorted({int(entry.summary["runs"]) for section in found for entry in section.series})
    protocol = f"{found[0].protocol.capitalize()} protocol"
    if not counts or counts[-1] == 1:
        return f"{protocol}."
    seeds = f"{counts[-1]} seeds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    return f"{protocol}, mean ± standard deviation over {seeds}."


def _every_task(name: str, found: Sequence[Section]) -> str:
    tables = [after_each_task(section, printed_of(name, section)) for section in found]
    return "\n\n".join([f"ACC % on the tasks seen so far, after each task. {introduction(found)}", *tables])


def _beside_another_dataset(name: str, found: Sequence[Section]) -> str:
    return "\n\n".join([f"ACC %. {introduction(found)}", NOT_THE_SAME, across(found, name)])


def _with_margins(name: str, found: Sequence[Section]) -> str:
    return f"{introduction(found)}\n\n{margins(name, found)}"


def _curves(found: Sequence[Section]) -> Drawing:
    return curves(found[0], f"{title(found[0].scenario)}, {found[0].protocol} protocol")


def _bars(found: Sequence[Section], *, columns: int, width: float) -> Drawing:
    return bars(found, f"{_dataset(found)}: ACC after the last task", columns, width)


def _bars_and_transfer(found: Sequence[Section]) -> Drawing:
    return bars_and_transfer(found, f"{_dataset(found)}: ACC after the last task, below; BWT and FWT, above", 320)


def _dataset(found: Sequence[Section]) -> str:
    """
    >>> _dataset([Section("cub200-100/10@held-out", "agnostic", [], [])])
    'CUB, agnostic protocol'
    """
    return f"{title(found[0].scenario).rpartition('-')[0]}, {found[0].protocol} protocol"


FORMS = {  # by the names of TABLES
    "table-mnist": Form(beside_the_paper),
    "table-cifar": Form(_every_task, {"curves.svg": _curves}),
    "figure-cifar": Form(lambda _, found: introduction(found), {"curves.svg": _curves}),
    "table-imagenet-subset": Form(_beside_another_dataset, {"bars.svg": partial(_bars, columns=3, width=250)}),
    "figure-cub": Form(_with_margins, {"bars.svg": partial(_bars, columns=2, width=320)}),
    "figure-dogs": Form(_with_margins, {"bars.svg": _bars_and_transfer}),
}
