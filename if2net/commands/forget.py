"""`if2net forget`: take samples out of a model, as if they had never been learned, or whole classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output, contents, counted, model_values
from if2net.commands.images import print_left_out
from if2net.commands.labelled import labelled_samples
from if2net.commands.options import (
    LABELLED,
    DeviceOption,
    LabelOption,
    ModelArgument,
    NoWaitOption,
    OwnBackboneOption,
    WeightOption,
    changing,
    check_order,
    known_classes,
    save_solved,
)
from if2net.errors import ConfigurationError


def forget(
    model: ModelArgument,
    samples: Annotated[list[Path] | None, typer.Argument(metavar="[SAMPLES]", help=LABELLED)] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option("--class", help="Class to forget without its samples, instead of SAMPLES. Can be repeated."),
    ] = None,
    label: LabelOption = None,
    weight: WeightOption = None,
    backbone: OwnBackboneOption = None,
    device: DeviceOption = "auto",
    output: Output = SENTENCES,
    no_wait: NoWaitOption = False,
) -> None:
    """Forget samples, as if they had never been learned, or whole classes.

    SAMPLES are samples that were learned, with their labels. A class without samples is removed. If any sample was
    never learned, MODEL stays unchanged. A process waits while another one changes MODEL. `if2net undo` cannot take
    it back: no file keeps the forgotten samples.

    --class needs no samples. It removes the class and the mean of its samples; their scatter around it stays.
    """
    from if2net.learner import IF2Net

    check_order(model, "forget")
    if bool(samples) == bool(classes):
        raise ConfigurationError("Give either the samples to forget, or classes with --class.")
    console = output.screen()
    with changing(model, no_wait):
        net = IF2Net.load(model, device)
        known, before = net.classes.tolist(), net.samples
        for name in known_classes(net, classes or []):
            net.forget_class(name)
        blocks, left_out = (
            labelled_samples(net, samples, label, backbone, device, console, weight=weight) if samples else ((), {})
        )
        for _, X, y, weights in blocks:  # if one of them fails, the file still has all samples
            net.forget(X, y, weights)
        save_solved(net, model)
    left = set(net.classes.tolist())
    removed = [name for name in known if name not in left]
    # A class of one sample has no scatter, and without classes nothing stays.
    has_scatter = bool(classes) and net.samples > 0 and before - net.samples > len(removed)
    stays = " Their scatter around the class mean stays; forgetting the samples instead of the class removes it, too."
    lines = [
        f"Forgot {counted(before - net.samples, 'sample')}.{stays if has_scatter else ''}",
        f"Removed classes: {', '.join(map(str, removed))}" if removed else "No class was removed.",
        f"{model} now has {contents(net)}.",
    ]
    values = {"forgotten": before - net.samples, "removed_classes": removed, "left_out": list(left_out.values())}
    output.answer(lines, model_values(model, net) | values, written=model)
    print_left_out(left_out, console)
