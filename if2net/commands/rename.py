"""`if2net rename`: give classes of a model other names."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from if2net.commands.answer import SENTENCES, Output, model_values
from if2net.commands.options import DeviceOption, ModelArgument, NoUndoOption, NoWaitOption, changing, known_classes
from if2net.errors import InputError


def rename(
    model: ModelArgument,
    names: Annotated[
        list[str], typer.Argument(metavar="OLD NEW", help="Class and its new name. More pairs can follow.")
    ],
    device: DeviceOption = "auto",
    no_undo: NoUndoOption = False,
    output: Output = SENTENCES,
    no_wait: NoWaitOption = False,
) -> None:
    """Give classes other names. Nothing else changes.

    Two classes can swap their names. The classes of a model are all numbers or all text: to replace numbers by text,
    name all classes.
    """
    from if2net.learner import IF2Net

    if len(names) % 2:
        raise InputError(f"The class {names[-1]!r} has no new name; give pairs of an old and a new name.")
    if "" in names[1::2]:  # tables could not name such a class: an empty cell is a missing label
        raise InputError("A new name is empty; give a name.")
    with changing(model, no_wait):
        net = IF2Net.load(model, device)
        old = known_classes(net, names[::2])
        pairs = dict(zip(old, _labels(names[1::2], net.classes.tolist()), strict=True))
        net.rename(pairs)
        net.save(model, keep_old=not no_undo)
    lines = [f"Renamed {old} to {new}." for old, new in pairs.items()]
    values = model_values(model, net) | {"renamed": list(pairs.items())}
    output.answer(lines, values, written=model)


def _labels(names: list[str], classes: list[Any]) -> list[Any]:
    """Return the new names as whole numbers if the classes are numbers and all of the names are, else as text."""
    numbers = all(type(label) in (int, float) for label in classes)
    whole = numbers and all(re.fullmatch(r"-?\d{1,18}", name) for name in names)  # Python refuses very long ones
    return [int(name) for name in names] if whole else names
