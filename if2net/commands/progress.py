"""A bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

# Seconds between two lines in a log.
PAUSE = 10.0


class Show(Protocol):
    def __call__(self, done: int, total: int, /, text: str = "") -> None: ...


@contextmanager
def counting(what: str, console: Console) -> Iterator[Show]:
    """A function to call with how many are done, of how many."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[text]}"))
    last = -PAUSE
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        bar = progress.add_task(what, total=None, text="")

        def show(done: int, total: int, /, text: str = "") -> None:
            nonlocal last
            progress.update(bar, completed=done, total=total, text=text)
            now = time.monotonic()
            if not console.is_terminal and (now - last >= PAUSE or done == total):
                last = now
                console.print(f"{what} {done:,}/{total:,} {text}".rstrip(), highlight=False)

        yield show
