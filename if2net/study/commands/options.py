"""Options that several commands of the study have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.options import begins_with

MethodsOption = Annotated[list[str] | None, typer.Option("-m", "--method", help="A method. Can be repeated.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="Folder of the data sets. Default: the variable IF2NET_DATA.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="Setting, as key=value or method.key=value. Can be repeated.")
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="TOML file of settings. --set has priority.")]
JobsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of runs at the same time, one process each. Default: up to 4 on a CPU for methods that train a "
        "network, otherwise 1.",
    ),
]
ResultFoldersArgument = Annotated[list[Path], typer.Argument(help="Folders that run or reproduce have written.")]
# How the files begin that show that a folder holds results.
OURS = {
    "results.json": rb'\{\n"(scenario|ablation)": ',
    "config.json": rb'\{\n"scenario": ',
    "report.html": rb'.*<meta name="generator" content="if2net',
}
ProtocolOption = Annotated[str, typer.Option(help="agnostic, aware or transductive.")]


def check_results_folder(folder: Path, force: bool) -> None:
    """Raise an error, before any work, if a folder cannot be written to or holds files but no results."""
    from if2net.errors import OutputError
    from if2net.output_folders import is_empty

    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise OutputError(f"{existing} is a file, and a folder is needed; choose another --out.")
    if not os.access(existing, os.W_OK):
        raise OutputError(f"The folder {existing} cannot be written to; choose another --out.")
    places = ((path, start) for name, start in OURS.items() for path in (folder / name, *folder.glob(f"*/{name}")))
    if not (force or is_empty(folder) or any(begins_with(start, path) for path, start in places)):
        raise OutputError(
            f"{folder} holds other files and no results; choose another --out, or write into it with --force."
        )
    for name in () if force else ("config.json", "report.html"):  # results.json is read before it is replaced
        if (folder / name).exists() and not begins_with(OURS[name], folder / name):
            raise OutputError(
                f"{folder / name} exists and was not written by if2net; choose another --out, or replace it with "
                "--force."
            )
