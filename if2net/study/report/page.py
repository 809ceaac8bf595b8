"""Write report.html: its tables are in page_tables.html.j2, its layout in page.html.j2, its numbers in gather.py.

It is one self-contained page over one or several results. page.html.j2 also has the style sheet and the script, and
charts.py draws the charts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from if2net.files import write_text
from if2net.output_folders import make_folder
from if2net.study.bench.display import ACC, COSTS, METRICS, costs
from if2net.study.bench.results import Results
from if2net.study.report import charts
from if2net.study.report.compare import tied
from if2net.study.report.gather import MOST_CLASSES, Section, Source, sections_of, title
from if2net.study.report.rerun import commands

ADVICE = "choose another folder for the report"
MOST_NUMBERS = 12  # tasks; with more of them, the cells of a matrix R are too small for a number


def write_report(results: Results, folder: Path) -> Path:
    """Write report.html beside the results."""
    return write_page(sections_of([Source(folder.name, results)]), folder)


def write_page(sections: Sequence[Section], folder: Path) -> Path:
    """Write report.html over several sections."""
    path = make_folder(folder, ADVICE) / "report.html"
    write_text(path, render(sections))
    return path


def write_figures(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write every chart of the page as an SVG file and a PNG file; return the files."""
    make_folder(folder, ADVICE)
    files = []
    for section in sections:
        drawn = {
            "accuracy": charts.accuracy_chart(section, alone=True),
            **{cost: charts.cost_chart(section, cost, alone=True) for cost in charts.COSTS},
            "matrices": charts.matrix_chart(section),
        }
        for name, chart in drawn.items():
            files += charts.save(chart, folder / f"{_file_name(f'{section.title} {name}')}.svg")
    return files


def render(sections: Sequence[Section]) -> str:
    """Return the page as HTML."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"duration": _duration, "seeds": _seeds, "shade": _shade, "settings": _settings}
    page = environment.get_template("page.html.j2").render(
        sections=sections,
        title=sections[0].title if len(sections) == 1 else f"{len(sections)} results of if2net",
        scenario_title=title,
        accuracy=ACC,
        metrics=METRICS,
        tied=tied,
        costs=costs,
        cost_headings=COSTS,
        charts=charts,
        commands=commands,
        shade_rules=charts.shade_rules(),
        most_classes=MOST_CLASSES,
        most_numbers=MOST_NUMBERS,
    )
    return page.lstrip()


def _file_name(words: str) -> str:
    """
    >>> _file_name("digits-10/5, aware R if2net (mixed)")
    'digits-10-5-aware-r-if2net-mixed'
    """
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _seeds(seeds: Iterable[int]) -> str:
    """
    >>> _seeds({0, 1, 2}), _seeds({4}), _seeds({1, 3})
    ('3 (0 to 2)', '1 (4)', '2 (1, 3)')
    """
    ordered = sorted(set(seeds))
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{len(ordered)} ({ordered[0]} to {ordered[-1]})"
    return f"{len(ordered)} ({', '.join(map(str, ordered))})"


def _duration(seconds: float) -> str:
    """
    >>> _duration(4.21), _duration(300), _duration(9000)
    ('4.2 s', '5.0 min', '2.5 h')
    """
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def _shade(fraction: float) -> str:
    """The class of a cell's shade.

    >>> _shade(0.0), _shade(0.52), _shade(1.0)
    ('h0', 'h10', 'h20')
    """
    return f"h{round(20 * fraction)}"


def _settings(results: Results) -> str:
    return json.dumps(results.settings, indent=1)
