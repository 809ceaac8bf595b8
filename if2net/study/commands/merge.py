"""`if2net merge`: join results from different machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def merge(
    parts: Annotated[list[Path], typer.Argument(help="Folders that run or reproduce have written.")],
    out: Annotated[Path, typer.Option(help="Folder for the merged results.")],
) -> None:
    """Merge results from different machines."""
    from if2net.study.bench.results import merge_folders

    for path in merge_folders(parts, out):
        typer.echo(f"Results: {path}")
