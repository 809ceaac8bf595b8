"""The `if2net` command."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from if2net import commands
from if2net.commands.messages import AFTERWARDS
from if2net.study import commands as study

SAME_FOLDER = "Start the same command with the same --out to go on."
# What is left of a command's work when it is stopped.
KEPT = {
    "run": SAME_FOLDER,
    "reproduce": SAME_FOLDER,
    "features": "The features that were finished are kept: the same command goes on.",
    "pretrain": "The epochs that were finished are kept: the same command goes on.",
    "learn": "The model is as it was; of images, the features that were finished are kept.",
}


class Commands(TyperGroup):
    """What is true of all commands: some things are said at the end, and stopping one gets a sentence, too."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with AFTERWARDS:
                return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo(f"Stopped. {KEPT.get(str(ctx.invoked_subcommand), '')}".rstrip(), err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=Commands,
    help="A classifier that keeps learning new classes, keeps no old data and forgets nothing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (*commands.COMMANDS, *study.COMMANDS):
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
