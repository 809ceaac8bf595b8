"""The `if2net` command."""

from __future__ import annotations

import os
import sys

import typer

from if2net.commands import COMMANDS

app = typer.Typer(
    help="A classifier that keeps learning new classes, keeps no old data and forgets nothing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """The `if2net` command: what a user can mend is said in a sentence, without a traceback."""
    from if2net.errors import IF2NetError

    # Threads that wait without spinning, so that several runs can share the cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        app()
    except IF2NetError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("Stopped. Start the same command with the same --out to go on.", err=True)
        sys.exit(130)
