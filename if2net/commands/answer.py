"""The answer of a command: sentences for people, JSON for programs, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from if2net.learner import IF2Net

JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors, and the JSON object, but nothing else.")
]


# Compiled in advance, because the error for missing memory is printed, too.
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def answer(lines: Iterable[str], values: Mapping[str, Any], *, as_json: bool, quiet: bool) -> None:
    """Print the lines, or the values as JSON."""
    if as_json:
        typer.echo(json.dumps(values))
    elif not quiet:
        for line in lines:
            typer.echo(printable(line))


def screen(*, quiet: bool, stderr: bool = True) -> Console:
    """Return the console of a command. Paths and names are printed as they are: their brackets are no markup."""
    from rich.console import Console

    return Console(stderr=stderr, quiet=quiet, markup=False, emoji=False)


def printable(text: str) -> str:
    r"""Escape the control characters of a text, which may come from a foreign file and would steer the terminal.

    Parts of file names that are not valid text are escaped, too, because they cannot be printed.

    >>> printable("owl\x1b[2J")
    'owl\\x1b[2J'
    """
    return UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


def file_size(path: Path) -> str:
    """Return the size of a file as text: small files in kB, since 0.0 MB would say nothing."""
    size = path.stat().st_size
    return f"{size / 1e3:.0f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"


def model_values(path: Path, net: IF2Net) -> dict[str, Any]:
    """Return the part of the JSON object that describes a model."""
    return {"model": str(path), "classes": net.classes.tolist(), "samples": net.samples}
