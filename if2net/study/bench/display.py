"""What a run shows: progress while it works, and the table at the end; numbers and tables as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from if2net.study.bench.results import trained_on
from if2net.study.bench.stream import Plan, Step


class Display:
    """A live bar on a terminal, and a line for every finished task elsewhere (a log, a pipe)."""

    def __init__(self, plans: list[Plan], console: Console) -> None:
        self.console = console
        self.total = sum(len(plan.settings) * len(plan.seeds) * plan.scenario.tasks for plan in plans)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tasks"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.bar = self.progress.add_task("starting", total=self.total)

    def __enter__(self) -> Display:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def __call__(self, step: Step) -> None:
        text = f"{step.method} seed {step.seed} task {step.task + 1}/{step.tasks}: {100 * step.accuracy:.2f} %"
        self.progress.update(self.bar, description=text, advance=1)
        if not self.console.is_terminal:
            self.console.print(text)


def results_table(results: dict[str, Any]) -> Table:
    """ACC in percent, BWT and FWT as fractions, mean ± standard deviation over the seeds."""
    table = Table(title=f"{results['scenario']}, {results['protocol']} protocol", title_justify="left")
    if seen := trained_on(results):
        table.caption, table.caption_justify = f"The backbone was trained on {escape(seen)}.", "left"
    table.add_column("method")
    for heading in ("ACC %", "BWT", "FWT", *COSTS):
        table.add_column(heading, justify="right")
    for name, entry in results["summary"].items():
        table.add_row(
            name,
            spread(100 * entry["acc_mean"], 100 * entry["acc_std"], 2, entry["runs"]),
            spread(entry["bwt_mean"], entry["bwt_std"], 4, entry["runs"]),
            spread(entry["fwt_mean"], entry["fwt_std"], 4, entry["runs"]),
            *costs(entry),
        )
    return table


COSTS = ("learning s", "state", "exemplars")


def costs(entry: dict[str, float]) -> tuple[str, str, str]:
    """The cells under COSTS, from a method's summary."""
    return f"{entry['learn_seconds_mean']:.1f}", size(entry["state_bytes"]), f"{entry['exemplars']:,}"


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table; the first columns hold words, the others numbers.

    >>> print(markdown(["case", "ACC %"], [["a", "80.58"]]))
    | case | ACC % |
    |---|---:|
    | a | 80.58 |
    """
    rule = "|".join(["---"] * words + ["---:"] * (len(headings) - words))
    lines = [f"| {' | '.join(headings)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def spread(mean: float, deviation: float, digits: int, runs: int) -> str:
    """
    >>> spread(97.531, 0.12, 2, 5), spread(97.531, 0.0, 2, 1)
    ('97.53 ± 0.12', '97.53')
    """
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}" if runs > 1 else f"{mean:.{digits}f}"


def size(count: float) -> str:
    """
    >>> size(512), size(3_400_000)
    ('512 B', '3.4 MB')
    """
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
