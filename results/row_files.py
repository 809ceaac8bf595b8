"""Files of rows, one JSON object per line. Each run of a script adds its environment first, and then its rows."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from if2net.study.bench.environment import environment

Row = dict[str, Any]
INNATE = Path(__file__).parent / "innate"


def record(
    parser: argparse.ArgumentParser, name: str, rows: Callable[[argparse.Namespace], Iterable[Row]], device: str = ""
) -> None:
    """Add the option --out, parse the arguments, and write their rows to this file of `results/innate/` or to --out.

    Each row is printed and added to the file at once, so that a stopped run leaves the finished rows. The device is
    the option --device unless it is given.
    """
    parser.add_argument("--out", type=Path, default=INNATE / name)
    arguments = parser.parse_args()
    # Without the folders of a path, which belong to one machine.
    values = {key: value.name if isinstance(value, Path) else value for key, value in vars(arguments).items()}
    given = {key: value for key, value in values.items() if key != "out"}
    first = {"environment": environment(device or arguments.device), "arguments": given}
    with arguments.out.open("a") as out:
        for row in itertools.chain([first], rows(arguments)):
            for file in (out, None):
                print(json.dumps(row, default=str), file=file, flush=True)


def read(path: Path) -> Iterator[Row]:
    """Yield the rows of a file, without the environments."""
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if "arguments" not in row:
            yield row
