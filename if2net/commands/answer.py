"""The answer of a command: sentences for people, JSON for programs, or nothing."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from if2net.learner import IF2Net

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors, predictions and JSON.")]


# Compiled in advance, because the error for missing memory is printed, too.
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Output:
    """What a command prints: sentences for people, JSON for programs, or nothing. The fields are options."""

    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False
    quiet: QuietOption = False

    def answer(self, lines: Iterable[str], values: Mapping[str, Any], *, written: Path | None = None) -> None:
        """Print the lines, or the values as JSON.

        `written` is the file that the command has changed. Then an output that cannot be written is only a warning:
        after an error, users and scripts would do the work a second time.
        """
        try:
            if self.as_json:
                typer.echo(json.dumps(values))
            elif not self.quiet:
                for line in lines:
                    typer.echo(printable(line))
            sys.stdout.flush()
        except OSError as error:
            if written is None:
                raise
            drop(sys.stdout)
            if not isinstance(error, BrokenPipeError):  # a reader such as `head` has closed the pipe
                typer.echo(
                    f"Warning: {printable(str(written))} has been written, but the answer could not be printed "
                    f"({error.strerror}).",
                    err=True,
                )

    def screen(self, *, stderr: bool = True) -> Console:
        """Return the console of a command. With --json, the standard output is for the JSON object alone.

        Paths and names are printed as they are: brackets are not markup.
        """
        from rich.console import Console

        quiet = self.quiet or (self.as_json and not stderr)
        return Console(stderr=stderr, quiet=quiet, markup=False, emoji=False)


SENTENCES = Output()


def with_output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer, which has the options --json and --quiet in the place of the parameter `output`."""
    parameters = inspect.signature(command, eval_str=True).parameters
    if "output" not in parameters:
        return command
    options = inspect.signature(Output, eval_str=True).parameters

    @wraps(command)
    def flat(**values: Any) -> None:
        output = Output(**{name: values.pop(name) for name in options})
        command(**values, output=output)

    places = ([*options.values()] if name == "output" else [parameter] for name, parameter in parameters.items())
    flat.__signature__ = inspect.Signature([*chain(*places)])  # type: ignore[attr-defined]
    return flat


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, such as '1 sample' and '2,000 samples'.

    >>> counted(1, "class"), counted(2000, "class")
    ('1 class', '2,000 classes')
    """
    plural = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{plural}"


def contents(net: IF2Net) -> str:
    """Return the numbers of classes and samples of a model in words.

    >>> from if2net import IF2Net
    >>> contents(IF2Net().learn([[0.0], [1.0]], ["a", "a"]))
    '1 class from 2 samples'
    """
    return f"{counted(len(net.classes), 'class')} from {counted(net.samples, 'sample')}"


def drop(stream: IO[str]) -> None:
    """Send the rest of a stream nowhere, because Python would try to write it again at the end."""
    with suppress(OSError, ValueError):  # in a test, the stream may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def printable(text: str) -> str:
    r"""Escape the control characters of a text, which may come from a foreign file and would steer the terminal.

    Parts of file names that are not valid text are escaped, too, because they cannot be printed.

    >>> printable("owl\x1b[2J")
    'owl\\x1b[2J'
    """
    return UNPRINTABLE.sub(lambda character: ascii(character[0])[1:-1], text)


def percent(share: float | None) -> str:
    """Return a share as text.

    >>> percent(0.9512), percent(None)
    ('95.1 %', '–')
    """
    return "–" if share is None else f"{100 * share:.1f} %"


def file_size(path: Path) -> str:
    """Return the size of a file as text: in kB below 1 MB, and in MB otherwise."""
    size = path.stat().st_size
    return f"{size / 1e3:.0f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"


def model_values(path: Path, net: IF2Net) -> dict[str, Any]:
    """Return the part of the JSON object that describes a model."""
    return {"model": str(path), "classes": net.classes.tolist(), "samples": net.samples}
