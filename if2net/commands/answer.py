"""The answer of a command: sentences for people, JSON for programs, or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors, and the JSON object, but nothing else.")
]


def answer(lines: Iterable[str], values: Mapping[str, Any], *, as_json: bool, quiet: bool) -> None:
    """Print the lines, or the values as JSON."""
    if as_json:
        typer.echo(json.dumps(values, ensure_ascii=False, default=str))
    elif not quiet:
        for line in lines:
            typer.echo(line)
