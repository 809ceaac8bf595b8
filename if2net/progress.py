"""Progress of long work: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console

# Seconds between two lines in a log.
PAUSE = 10.0


class Show(Protocol):
    """A function that long work calls after each step.

    Its arguments are the number of items done, their total (None where it is not known in advance) and a remark.
    """

    def __call__(self, done: int, total: int | None, /, text: str = "") -> None: ...


@contextmanager
def progress(what: str, console: Console) -> Iterator[Show]:
    """Show the progress of one piece of work; the value is the function to call after each step."""
    if not console.is_terminal:
        yield _log(what, console)
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[text]}", markup=False),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as display:
        bar = display.add_task(what, total=None, text="")

        def show(done: int, total: int | None, /, text: str = "") -> None:
            display.update(bar, completed=done, total=total, text=text)

        yield show


def _log(what: str, console: Console) -> Show:
    """Return a function that prints a line for the first step, the last one, and now and then between them."""
    last = -PAUSE

    def show(done: int, total: int | None, /, text: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PAUSE or done == total:
            last = now
            of_total = "" if total is None else f"/{total:,}"
            console.print(f"{what} {done:,}{of_total} {text}".rstrip(), highlight=False)

    return show


def counting(show: Show, total: int | None = None) -> Callable[[int], None]:
    """Return a function that is called with the number of items of each step and shows their sum."""
    done = 0

    def count(items: int) -> None:
        nonlocal done
        done += items
        show(done, total)

    return count
