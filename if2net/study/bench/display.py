"""The progress and the table of a run on the screen; numbers and tables as text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from if2net.progress import progress
from if2net.study.bench.results import Results
from if2net.study.bench.stream import Plan, ShowStep, Step


@contextmanager
def shown_steps(plans: Sequence[Plan], console: Console) -> Iterator[ShowStep]:
    """Show the progress of plans, and yield the function to call after each task."""
    total = sum(len(plan.settings) * len(plan.seeds) * plan.scenario.tasks for plan in plans)
    finished = itertools.count(1)
    with progress("tasks", console) as show:

        def show_step(step: Step) -> None:
            place = f"{step.method} seed {step.seed} task {step.task + 1}/{step.tasks}"
            show(next(finished), total, f"{place}: {100 * step.accuracy:.2f} %")

        yield show_step


@dataclass(frozen=True)
class Metric:
    """A column of the tables: heading, key in the summary, factor, digits, and whether the best method is marked.

    For BWT and FWT no method is marked, because one that learns nothing has nothing to forget.
    """

    heading: str
    key: str
    factor: int
    digits: int
    compared: bool

    def cell(self, entry: Mapping[str, float]) -> str:
        """Return the mean ± standard deviation over the seeds, from the summary of a method."""
        mean, deviation = (self.factor * entry[f"{self.key}_{kind}"] for kind in ("mean", "std"))
        return spread(mean, deviation, self.digits, int(entry["runs"]))


ACC = Metric("ACC %", "acc", 100, 2, True)
BWT = Metric("BWT", "bwt", 1, 4, False)
FWT = Metric("FWT", "fwt", 1, 4, False)
INCREMENTAL = Metric("incremental %", "average_incremental", 100, 2, True)
METRICS = (ACC, BWT, FWT, INCREMENTAL)


def results_table(results: Results) -> Table:
    """Return a table of ACC in percent, BWT and FWT as fractions, mean ± standard deviation over the seeds."""
    title = Text(f"{results.scenario}, {results.protocol} protocol", style="table.title")  # no markup
    table = Table(title=title, title_justify="left")
    if results.trained_on:
        caption = Text(f"The backbone was trained on {results.trained_on}.", style="table.caption")
        table.caption, table.caption_justify = caption, "left"
    table.add_column("method")
    for heading in (ACC.heading, BWT.heading, FWT.heading, *COSTS):
        table.add_column(heading, justify="right")
    for name, entry in results.summary.items():
        table.add_row(name, ACC.cell(entry), BWT.cell(entry), FWT.cell(entry), *costs(entry))
    return table


COSTS = ("learning s", "state", "exemplars")


def costs(entry: dict[str, float]) -> tuple[str, str, str]:
    """Return the cells under COSTS, from the summary of a method."""
    return f"{entry['learn_seconds_mean']:.1f}", decimal(int(entry["state_bytes"])), f"{entry['exemplars']:,}"


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table in markdown. The first `words` columns are aligned left, the others right.

    >>> print(markdown(["case", "ACC %"], [["a", "80.58"]]))
    | case | ACC % |
    |---|---:|
    | a | 80.58 |
    """
    rule = "|".join(["---"] * words + ["---:"] * (len(headings) - words))
    lines = [f"| {' | '.join(headings)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def spread(mean: float, deviation: float, digits: int, runs: int) -> str:
    """Return the mean and standard deviation as text; the mean alone for one run.

    >>> spread(97.531, 0.12, 2, 5), spread(97.531, 0.0, 2, 1)
    ('97.53 ± 0.12', '97.53')
    """
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}" if runs > 1 else f"{mean:.{digits}f}"
