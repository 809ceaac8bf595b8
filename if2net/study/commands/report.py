"""Commands on results: a page over them (report), the difference between two (compare), several as one (merge)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output
from if2net.commands.options import ForceOption, NoWaitOption
from if2net.study.commands.options import ResultFoldersArgument, check_results_folder


def report(
    folders: ResultFoldersArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the report. Default: the folder, or out/report for several."),
    ] = None,
    force: ForceOption = False,
    output: Output = SENTENCES,
) -> None:
    """Write one report.html over result folders, with its figures as SVG and PNG files."""
    from if2net.study.report.gather import read_sources, sections_of
    from if2net.study.report.page import write_figures, write_page

    folder = out or (folders[0] if len(folders) == 1 else Path("out") / "report")
    gathered = sections_of(read_sources(folders))
    check_results_folder(folder, force)
    page = write_page(gathered, folder)
    figures = write_figures(gathered, folder / "figures")
    lines = [f"Report:  {page}", f"Figures: {len(figures)} files in {folder / 'figures'}"]
    output.answer(lines, {"written": [str(path) for path in (page, *figures)]})


def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="A folder with results.json.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another one, of the same scenario and protocol.")],
    output: Output = SENTENCES,
) -> None:
    """Show the changes from A to B, and whether they exceed the spread of the seeds."""
    from dataclasses import asdict

    from if2net.study.report import compare as comparison
    from if2net.study.report.gather import read_one

    first, second = read_one(before), read_one(after)
    differences = comparison.compare(first, second)
    console = output.screen(stderr=False)
    console.print(comparison.comparison_table(differences, f"{first.scenario}, {first.protocol} protocol"))
    for line in comparison.changes(first, second):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    values = [asdict(one) | {"metric": one.metric.key, "verdict": one.verdict} for one in differences]
    output.answer((), {"differences": values})


def merge(
    parts: ResultFoldersArgument,
    out: Annotated[Path, typer.Option(help="Folder for the merged results.")],
    no_wait: NoWaitOption = False,
    force: ForceOption = False,
    output: Output = SENTENCES,
) -> None:
    """Merge results from different machines. To join models, use `if2net merge-models`."""
    from if2net.output_folders import locked_folder
    from if2net.study.bench.results import merge_folders
    from if2net.study.bench.runner import ADVICE

    check_results_folder(out, force)
    with locked_folder(out, ADVICE, wait=not no_wait):
        written = [str(path) for path in merge_folders(parts, out)]
    output.answer([f"Results: {path}" for path in written], {"written": written})
