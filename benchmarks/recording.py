"""The options and the report that the benchmarks have in common."""

import argparse
import json
from pathlib import Path
from typing import Any

from if2net.files import write_text


def options(script: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the option --out, by default the JSON file beside the script."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(script).with_suffix(".json"))
    return parser


def parse_with_only(parser: argparse.ArgumentParser, script: str) -> argparse.Namespace:
    """Add the option --out to a parser that has --only, and parse. With --only, no file is written by default."""
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.out is None and not arguments.only:
        arguments.out = Path(script).with_suffix(".json")
    return arguments


def write(path: Path, report: dict[str, Any]) -> None:
    write_text(path, json.dumps(report, indent=1) + "\n")


def record(path: Path, report: dict[str, Any]) -> None:
    """Write a report and print it."""
    write(path, report)
    print(json.dumps(report, indent=1))
