"""Whether a results file holds all that is shown of it; if not, a sentence that says what is wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from if2net.errors import ConfigurationError
from if2net.study.bench.protocol import PROTOCOLS
from if2net.study.bench.results import SUMMARISED
from if2net.study.data.scenario import PATTERN

OF_AN_ABLATION = ("table.md", "figure.svg")  # what `if2net reproduce` leaves beside its results


def check(results: dict[str, Any], file: Path) -> None:
    """Raises for the first thing that is missing or cannot be."""
    if results["runs"] == []:
        raise ConfigurationError(f"{file} holds no finished run; start `if2net run` with this folder as --out first.")
    complaint = next(_complaints(results), None)
    if complaint is not None:
        raise ConfigurationError(f"{file} cannot be shown: {complaint}; run it again with this version.")


def refuse_an_ablation(file: Path) -> None:
    """Raises where a file, which is no result of methods, is one of an ablation."""
    try:
        name = json.loads(file.read_text())["ablation"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    made = [part for part in OF_AN_ABLATION if (file.parent / part).exists()]
    advice = f"look at {' and '.join(made)} beside it" if made else f"`if2net reproduce {name}` writes its table"
    raise ConfigurationError(
        f"{file} is the ablation {name}, and only runs of methods can be shown or compared here; {advice}."
    )


def _complaints(results: dict[str, Any]) -> Iterator[str]:
    """Each may take for granted that those before it were not made."""
    scenario = re.fullmatch(PATTERN, str(results["scenario"]))
    if scenario is None:
        yield f"its scenario {shortened(results['scenario'])} is not written DATASET-CLASSES/TASKS"
        return
    if results["protocol"] not in list(PROTOCOLS):
        yield f"its protocol {shortened(results['protocol'])} is none of {', '.join(PROTOCOLS)}"
    for key in ("environment", "settings"):
        if not isinstance(results.get(key), dict):
            yield f"it lacks {key!r}"
    for key in ("if2net", "device"):
        if not _is_word(results["environment"].get(key)):
            yield f"its environment lacks {key!r}"
    if not all(isinstance(settings, dict) for settings in results["settings"].values()):
        yield "its settings are not listed by method"
    if not _is_list_of(results["runs"], dict):
        yield "its runs are not a list of runs"
    for run in results["runs"]:
        yield from _complaints_of(run, int(scenario[3]))


def _complaints_of(run: dict[str, Any], tasks: int) -> Iterator[str]:
    for key, (kind, fits) in NEEDED.items():
        if key not in run:
            yield f"a run in it lacks {key!r}"
        if not fits(run[key]):
            yield f"{key!r} of a run in it is {shortened(run[key])}, not {kind}"
    for key in ("variant", "device"):
        if not _is_word(run.get(key, "")):
            yield f"{key!r} of a run in it is {shortened(run[key])}, not a name"
    if not _is_triangle(run["R"], tasks):
        yield f"'R' of a run in it is not {tasks} × {tasks} with an accuracy for every task learned so far"
    if not _is_count_of(run.get("confusion", []), len(run["class_order"])):
        yield "'confusion' of a run in it does not count the classes of 'class_order'"


def _is_word(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return type(value) is int


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _is_list_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and set(map(type, value)) <= {kind}


def _has_learned(seconds: object) -> bool:
    return isinstance(seconds, dict) and _is_number(seconds.get("learn"))


def _is_triangle(R: object, tasks: int) -> bool:
    """Rows as long as there are tasks; what is above the diagonal does not matter."""
    if not (isinstance(R, list) and _is_list_of(R, list) and len(R) == tasks):
        return False
    return all(
        len(row) == tasks and all(type(value) in (int, float) and 0 <= value <= 1 for value in row[: place + 1])
        for place, row in enumerate(R)
    )


def _is_count_of(confusion: object, classes: int) -> bool:
    """Results older than this record have none."""
    if not (isinstance(confusion, list) and _is_list_of(confusion, list)):
        return False
    rows_fit = all(len(row) == classes and _is_list_of(row, int) and min(row, default=0) >= 0 for row in confusion)
    return not confusion or (len(confusion) == classes and rows_fit)


NEEDED: dict[str, tuple[str, Callable[[object], bool]]] = {  # of every run: what it is in words, and whether it is
    "method": ("a name", _is_word),
    "seed": ("a whole number", _is_whole),
    **dict.fromkeys(SUMMARISED, ("a number", _is_number)),
    **dict.fromkeys(("state_bytes", "exemplars", "parameters"), ("a number", _is_number)),
    "seconds": ("the seconds of learning", _has_learned),
    "class_order": ("a list of classes", lambda value: _is_list_of(value, int)),
    "R": ("a matrix", lambda value: isinstance(value, list)),
}
