"""Options that several commands of the study have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MethodsOption = Annotated[list[str] | None, typer.Option("-m", "--method", help="A method. Can be repeated.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="Folder of the data sets. Default: the variable IF2NET_DATA.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="Setting, as key=value or method.key=value. Can be repeated.")
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="TOML file of settings. --set has priority.")]
JobsOption = Annotated[int, typer.Option(min=1, help="Number of runs at the same time, one process each.")]
ProtocolOption = Annotated[str, typer.Option(help="agnostic, aware or transductive.")]
