"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MethodsOption = Annotated[list[str] | None, typer.Option("-m", "--method", help="A method; may be repeated.")]
DataOption = Annotated[Path | None, typer.Option("--data", help="Folder with datasets; else IF2NET_DATA.")]
BackboneOption = Annotated[
    str | None,
    typer.Option(help="For images: efficientnet-lite0, timm:NAME, FILE.if2 or FILE.onnx; options after commas."),
]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="key=value or method.key=value; repeatable.")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="TOML file with settings; --set wins.")]
JobsOption = Annotated[int, typer.Option(min=1, help="How many runs side by side, each in a process of its own.")]
ProtocolOption = Annotated[str, typer.Option(help="agnostic, aware or transductive.")]
