"""`if2net merge`: join results from different machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import JsonOption, QuietOption, answer
from if2net.commands.options import ForceOption, NoWaitOption
from if2net.study.commands.options import ResultFoldersArgument, check_results_folder


def merge(
    parts: ResultFoldersArgument,
    out: Annotated[Path, typer.Option(help="Folder for the merged results.")],
    no_wait: NoWaitOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Merge results from different machines. To join models, use `if2net merge-models`."""
    from if2net.output_folders import locked_folder
    from if2net.study.bench.results import merge_folders
    from if2net.study.bench.runner import ADVICE

    check_results_folder(out, force)
    with locked_folder(out, ADVICE, wait=not no_wait):
        written = [str(path) for path in merge_folders(parts, out)]
    answer([f"Results: {path}" for path in written], {"written": written}, as_json=as_json, quiet=quiet)
