"""`if2net merge-models`: join models that have learned in several places, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output, contents, counted, model_values
from if2net.commands.options import (
    DeviceOption,
    NoUndoOption,
    NoWaitOption,
    ReplaceOption,
    changing,
    check_new,
    save_solved,
)
from if2net.errors import InputError


def merge_models(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Model file to write: a new one, or the first of the models.")
    ],
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODELS", help="Models to join, made by `if2net fork` from one model."),
    ],
    device: DeviceOption = "auto",
    no_undo: NoUndoOption = False,
    output: Output = SENTENCES,
    no_wait: NoWaitOption = False,
    force: ReplaceOption = False,
) -> None:
    """Join models that have learned different samples, as if one model had learned all of them.

    Each sample counts once: a model that has been merged before is refused. `if2net merge` joins results of runs.
    """
    from if2net.learner import IF2Net

    if len(models) < 2:
        raise InputError("Give OUT and at least two models to join.")
    lines = []
    with changing(out, no_wait):
        in_place = out.exists() and models[0].exists() and out.samefile(models[0])
        if not in_place:
            check_new(out, force)
        net = IF2Net.load(models[0], device)
        lines.append(f"{models[0]}: {counted(net.samples, 'sample')}")
        for path in models[1:]:
            other = IF2Net.load(path, device)
            lines.append(f"{path}: {counted(other.samples, 'sample')}")
            try:
                net.merge(other)
            except InputError as error:
                raise InputError(f"{path} cannot be joined with the models before it. {error}") from error
        save_solved(net, out, keep_old=in_place and not no_undo)
    lines.append(f"{out} now has {contents(net)}.")
    output.answer(lines, model_values(out, net), written=out)
