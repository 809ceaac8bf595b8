"""`if2net fork`: a model that has learned nothing, to learn in another place and to be merged later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output, model_values
from if2net.commands.options import DeviceOption, ModelArgument, ReplaceOption, check_new
from if2net.errors import OutputError
from if2net.files import check_writable


def fork(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Model file to write.")],
    device: DeviceOption = "auto",
    output: Output = SENTENCES,
    force: ReplaceOption = False,
) -> None:
    """Write a model that has learned nothing and can be merged with MODEL later.

    It has the frozen encoder of MODEL. Let it learn other samples, perhaps on another machine.
    """
    from if2net.learner import IF2Net
    from if2net.locks import locked

    check_writable(out)
    net = IF2Net.load(model, device).fork()
    if out.exists() and out.samefile(model):
        raise OutputError(f"{out} is the model itself, which would be lost; choose another name.")
    with locked(out):
        check_new(out, force)
        net.save(out)
    line = f"{out} has learned nothing yet. Let it learn, then join it with {model}: if2net merge-models."
    output.answer([line], model_values(out, net), written=out)
