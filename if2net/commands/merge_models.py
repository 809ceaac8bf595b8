"""`if2net fork` and `if2net merge-models`: learn in several places, and join the models exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import JsonOption, QuietOption, answer, contents, counted, model_values
from if2net.commands.options import DeviceOption, ModelArgument, NoWaitOption, save_solved

ReplaceOption = Annotated[bool, typer.Option("--force", help="Replace the file OUT if it exists.")]


def fork(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Model file to write.")],
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    force: ReplaceOption = False,
) -> None:
    """Write a model that has learned nothing and can be merged with MODEL later.

    It has the frozen encoder of MODEL. Let it learn other samples, perhaps on another machine.
    """
    from if2net.errors import OutputError
    from if2net.files import check_writable, locked
    from if2net.learner import IF2Net

    check_writable(out)
    net = IF2Net.load(model, device).fork()
    if out.exists() and out.samefile(model):
        raise OutputError(f"{out} is the model itself, which would be lost; choose another name.")
    with locked(out):
        _check_new(out, force)
        net.save(out)
    line = f"{out} has learned nothing yet. Let it learn, then join it with {model}: if2net merge-models."
    answer([line], model_values(out, net), as_json=as_json, quiet=quiet, written=out)


def merge_models(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Model file to write: a new one, or the first of the models.")
    ],
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODELS", help="Models to join, made by `if2net fork` from one model."),
    ],
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    no_wait: NoWaitOption = False,
    force: ReplaceOption = False,
) -> None:
    """Join models that have learned different samples, as if one model had learned all of them.

    Each sample counts once: a model that has been merged before is refused. `if2net merge` joins results of runs.
    """
    from if2net.errors import InputError
    from if2net.files import check_writable, locked
    from if2net.learner import IF2Net

    if len(models) < 2:
        raise InputError("Give OUT and at least two models to join.")
    check_writable(out)
    lines = []
    with locked(out, wait=not no_wait):
        if not (out.exists() and models[0].exists() and out.samefile(models[0])):
            _check_new(out, force)
        net = IF2Net.load(models[0], device)
        lines.append(f"{models[0]}: {counted(net.samples, 'sample')}")
        for path in models[1:]:
            other = IF2Net.load(path, device)
            lines.append(f"{path}: {counted(other.samples, 'sample')}")
            try:
                net.merge(other)
            except InputError as error:
                raise InputError(f"{path} cannot be joined with the models before it. {error}") from error
        save_solved(net, out)
    lines.append(f"{out} now has {contents(net)}.")
    answer(lines, model_values(out, net), as_json=as_json, quiet=quiet, written=out)


def _check_new(path: Path, force: bool) -> None:
    """Raise an error if the file exists, unless it may be replaced."""
    from if2net.errors import OutputError

    if path.exists() and not force:
        raise OutputError(f"{path} exists; choose another name, or replace it with --force.")
