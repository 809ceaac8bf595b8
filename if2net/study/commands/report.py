"""report and compare: looking at results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders that run or reproduce have written.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for it. Default: the folder itself, or out/report for several.")
    ] = None,
) -> None:
    """One report.html over result folders, with its figures as SVG and PNG files."""
    from if2net.study.report.figures import png_is_possible, write_figures
    from if2net.study.report.gather import read_sources, sections
    from if2net.study.report.page import write_page

    found = sections(read_sources(folders))
    folder = out or (folders[0] if len(folders) == 1 else Path("out") / "report")
    page = write_page(found, folder)
    figures = write_figures(found, folder / "figures")
    typer.echo(f"Report:  {page}\nFigures: {len(figures)} files in {folder / 'figures'}")
    if not png_is_possible():
        typer.echo("They are SVG alone; `pip install 'if2net[figures]'` adds PNG.")


def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="A folder with results.json.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another, of the same scenario and protocol.")],
) -> None:
    """Show what changed from A to B, and whether it is beyond the spread of the seeds."""
    from rich.console import Console

    from if2net.study.report import compare as comparing
    from if2net.study.report.gather import read_one

    first, second = read_one(before), read_one(after)
    found = comparing.compare(first, second)
    console = Console()
    console.print(comparing.comparison_table(found, f"{first['scenario']}, {first['protocol']} protocol"))
    for line in comparing.changes(first, second):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
