"""Images as samples of a command: how they are recognised, and those that could not be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from if2net.commands.answer import printable
from if2net.commands.options import refuse
from if2net.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

# The most files that are named on a screen. In a log, all are named.
NAMED = 20


def are_images(paths: Sequence[Path], *, backbone: str | None, label: str | None, weight: str | None = None) -> bool:
    """Return whether these are images or folders of images rather than tables, for which the options must be.

    Other files among images are allowed here; they are named at the end, with the images that cannot be read.
    """
    from if2net.images.read import SUFFIXES
    from if2net.tables import FORMATS

    others = [path for path in paths if not (path.is_dir() or path.suffix.lower() in SUFFIXES)]
    if missing := [path for path in others if not path.exists()]:
        raise InputError(f"There is no file or folder {missing[0]}; check the path.")
    tables = [path for path in others if path.name.lower().endswith(tuple(FORMATS))]
    if tables and len(others) < len(paths):
        raise InputError(f"{tables[0]} is a table, but others here are images; give either tables or images.")
    if len(others) < len(paths):
        refuse("tables", label=label, weight=weight)
        return True
    refuse("images", backbone=backbone)
    return False


def suggest_innate(folders: Sequence[Path], console: Console) -> None:
    """If all images are small, say that there is a backbone for such images."""
    from if2net.encoder.innate.encoder import SIDES
    from if2net.images.folders import list_classes
    from if2net.images.read import sides

    most, seen = SIDES[1], False
    for path in list_classes(folders)[0]:
        with suppress(InputError):  # it will be left out
            if max(sides(path)) > most:
                return
            seen = True
    if seen:
        console.print(
            f"No image has more than {most} pixels per side. For small pictures there is also --backbone innate.",
            highlight=False,
        )


def print_left_out(left_out: Mapping[Path, str], console: Console) -> None:
    """Name the files and folders that could not be used, with the reasons."""
    if not left_out:
        return
    console.print(f"Left out ({len(left_out):,}):", style="yellow", highlight=False)
    shown = NAMED if console.is_terminal else len(left_out)
    for reason in list(left_out.values())[:shown]:
        console.print(f"  {printable(reason)}", soft_wrap=True, highlight=False, markup=False)
    if len(left_out) > shown:
        redirection = "2> FILE" if console.stderr else "> FILE"
        console.print(f"  and {len(left_out) - shown:,} more; {redirection} writes all of them", highlight=False)
