"""A run in the terminal: its progress, and the table of its results."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table
from rich.text import Text

from if2net.progress import progress
from if2net.study.bench.display import ACC, BWT, COSTS, FWT, costs
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
