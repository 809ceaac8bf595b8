"""The `if2net` command."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from if2net.commands.answer import drop, printable, with_output_options
from if2net.commands.evaluate import evaluate
from if2net.commands.export import export
from if2net.commands.forget import forget
from if2net.commands.fork import fork
from if2net.commands.help import Command, Group
from if2net.commands.info import info
from if2net.commands.innate import innate
from if2net.commands.learn import learn
from if2net.commands.merge_models import merge_models
from if2net.commands.options import as_options
from if2net.commands.predict import predict
from if2net.commands.rename import rename
from if2net.commands.serve import serve
from if2net.commands.undo import undo
from if2net.errors import ConfigurationError, IF2NetError, OutputError
from if2net.study.commands.images import features, pretrain
from if2net.study.commands.lists import datasets, methods
from if2net.study.commands.report import compare, merge, report
from if2net.study.commands.reproduce import reproduce
from if2net.study.commands.run import run
from if2net.study.commands.tune import tune
from if2net.version import __version__

STUDY = (run, reproduce, tune, merge, report, compare, features, pretrain, methods, datasets)
MODEL = (learn, undo, predict, evaluate, info, rename, forget, fork, merge_models, export, serve)
PANELS: dict[str, tuple[Callable[..., None], ...]] = {"Your model": MODEL, "The study": STUDY}
EXAMPLES = {
    learn: "if2net learn birds.if2 today/",
    undo: "if2net undo birds.if2",
    predict: "if2net predict birds.if2 unknown/*.jpg",
    evaluate: "if2net evaluate birds.if2 test/ --html birds.html",
    info: "if2net info birds.if2",
    rename: "if2net rename birds.if2 owl 'barn owl'",
    forget: "if2net forget birds.if2 withdrawn/",
    fork: "if2net fork birds.if2 laboratory.if2",
    merge_models: "if2net merge-models joined.if2 birds.if2 laboratory.if2",
    export: "if2net export birds.if2 birds.onnx",
    serve: "if2net serve birds.if2",
    run: "if2net run fashion-mnist-10/5 -m if2net -m ewc --data data/",
    merge: "if2net merge machine-1/ machine-2/ --out all/",
}
SAME_FOLDER = "The same command with the same --out continues."
# Ctrl-C may come after the new file is in its place, while the answer is printed.
UNCHANGED = (
    "The model is unchanged or, if this was the very end, has the whole change; `if2net info` shows it. Finished "
    "features of images are kept."
)
# The sentence after Ctrl-C, by command: the work that is kept.
KEPT = {
    "run": SAME_FOLDER,
    "reproduce": SAME_FOLDER,
    "features": "Finished features are kept. The same command continues.",
    "pretrain": "Finished epochs are kept. The same command continues.",
    "innate": "Nothing was written.",
    "learn": UNCHANGED,
    "rename": UNCHANGED,
    "forget": UNCHANGED,
    "undo": UNCHANGED,
    "merge-models": UNCHANGED,
}
# Parts of the messages of PyTorch, which raises a RuntimeError: of the CPU, and of a GPU.
OUT_OF_MEMORY = ("can't allocate memory", "out of memory")


class Commands(Group):
    """The group of all commands: Ctrl-C, missing packages, full disks and the like end a command with a sentence."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().main(*args, **kwargs)  # which ends quietly for `if2net predict ... | head`
        except OSError as error:  # also of --help, which invokes no command
            if error.errno is None:
                raise
            drop(sys.stdout)
            place = error.filename or "A file or the output"
            raise OutputError(
                f"{place} cannot be read or written ({error.strerror}); check the path, its permissions and the free "
                "space."
            ) from error

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # the last lines of the output can also fail
            return result
        except KeyboardInterrupt:
            typer.echo(f"Stopped. {KEPT.get(str(ctx.invoked_subcommand), '')}".rstrip(), err=True)
            raise typer.Exit(130) from None
        except IF2NetError as error:
            if (text := as_options(str(error))) == str(error):
                raise
            raise type(error)(text) from error
        except ModuleNotFoundError as error:
            name, package = ctx.invoked_subcommand, str(error.name)
            if package.startswith("if2net") or name not in {command.__name__ for command in STUDY}:
                raise
            raise ConfigurationError(
                f"`if2net {name}` needs {package}; install it with `pip install 'if2net[study]'`."
            ) from error
        except BrokenExecutor as error:
            raise IF2NetError(
                "A worker process has died, most likely because memory ran out; use fewer --jobs."
            ) from error
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not any(words in str(error) for words in OUT_OF_MEMORY):
                raise
            raise IF2NetError("There is not enough memory; free some, or use a smaller width.") from error


class Remarks(TextIOWrapper):
    """The standard error stream. Remarks that it cannot take, such as progress, must not stop the work."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            drop(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            drop(self)


def _prepare_output() -> None:
    """Let closed streams drop all output, and escape characters that their encoding does not have."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # `if2net learn ... >&-`
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr = Remarks(sys.stderr.buffer, sys.stderr.encoding, "backslashreplace", line_buffering=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"if2net {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Examples: `if2net learn birds.if2 today/`, then `if2net predict birds.if2 unknown/*.jpg`. "
    "`if2net COMMAND --help` describes a command.",
)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A classifier that keeps learning new classes, keeps no old data and forgets nothing."""


for panel, commands in PANELS.items():
    for command in commands:
        example = f"Example: {EXAMPLES[command]}" if command in EXAMPLES else None
        app.command(cls=Command, rich_help_panel=panel, epilog=example)(with_output_options(command))
# A group of its own: it rebuilds a part of the product, changes no model, and is not part of the study.
app.add_typer(innate, rich_help_panel="The innate encoder")


def main() -> None:
    """Run the `if2net` command. An error that the user can correct is one sentence, without a traceback."""
    # Waiting threads must not spin, because they would take the cores from other work. This process is our own.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    warnings.formatwarning = lambda message, *_: f"Warning: {printable(str(message))}\n"  # without a line of code
    _prepare_output()
    try:
        app()
    except IF2NetError as error:
        typer.echo(f"Error: {printable(str(error))}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:  # before the command has begun
        typer.echo("Stopped.", err=True)
        sys.exit(130)
