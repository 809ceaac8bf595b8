"""What commands say of images that were left out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Of the images that could not be used, so many are named on the screen; in a file, all of them.
NAMED = 20
# What is done when the command is over: a summary that came earlier would be lost among a long run's lines.
AFTERWARDS = ExitStack()


def summarise(refused: dict[Path, str], total: int, console: Console, what: str = "images") -> None:
    """Name what was left out."""
    _name(f"{len(refused):,} of {total:,} {what} were left out:", refused, console)


def summarise_others(others: Mapping[Path, str], console: Console) -> None:
    """Name what lies among the images, or beside them, and was not looked at."""
    _name(f"Passed over ({len(others):,}):", others, console)


def _name(heading: str, reasons: Mapping[Path, str], console: Console) -> None:
    if not reasons:
        return
    console.print(heading, style="yellow", highlight=False)
    shown = NAMED if console.is_terminal else len(reasons)
    for reason in list(reasons.values())[:shown]:
        console.print(f"  {reason}", soft_wrap=True, highlight=False, markup=False)
    if len(reasons) > shown:
        into_a_file = "2> FILE" if console.stderr else "> FILE"
        console.print(f"  and {len(reasons) - shown:,} more; with {into_a_file} all are named there", highlight=False)


HELD_OUT = "held-out"


def refuse_held_out(backbone: str | None) -> None:
    """An error where the backbone is to be trained on the classes that a scenario leaves out, and there is none."""
    from if2net.errors import ConfigurationError
    from if2net.images.backbones.registry import split

    if backbone is not None and split(backbone)[0] == HELD_OUT:
        raise ConfigurationError(
            f"{HELD_OUT} belongs to scenarios, like cifar100-60/10: it is trained on the classes they leave out. "
            "Train a backbone with `if2net pretrain` and give its file, or choose another."
        )
