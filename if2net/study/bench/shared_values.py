"""Values that several runs share: a results file lists each of them once, and a run holds the index of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from reprlib import repr as shortened
from typing import Any


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return each value once, in the order of first use."""
    once: list[Any] = []
    for value in values:
        if value not in once:
            once.append(value)
    return once


def to_indices(runs: list[dict[str, Any]], keys: Sequence[str]) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    """Return the distinct values of each key, under its plural, and the runs with indices into these lists.

    The index is left out if all runs have the same value.

    >>> to_indices([{"seed": 0, "device": "cpu"}, {"seed": 1, "device": "cpu"}], ["device"])
    ({'devices': ['cpu']}, [{'seed': 0}, {'seed': 1}])
    >>> to_indices([{"seed": 0, "device": "cpu"}, {"seed": 1, "device": "H200"}], ["device"])[1]
    [{'seed': 0, 'device': 0}, {'seed': 1, 'device': 1}]
    """
    lists, runs = {}, list(runs)
    for key in keys:
        values = distinct(run[key] for run in runs if key in run)
        one_for_all = len(values) == 1 and all(key in run for run in runs)
        lists[f"{key}s"] = values
        for place, run in enumerate(runs):
            if one_for_all:
                runs[place] = {name: value for name, value in run.items() if name != key}
            elif key in run:
                runs[place] = {**run, key: values.index(run[key])}
    return lists, runs


def from_indices(content: Any, keys: Sequence[str], optional: Sequence[str] = ()) -> Any:
    """Return the content of a file, in which each run has its values instead of their indices.

    Runs may lack the value of an optional key. Other mistakes in the content are left to the checks that follow.
    """
    if not isinstance(content, dict) or not isinstance(runs := content.get("runs"), list):
        return content
    for key in keys:
        if not isinstance(values := content.get(f"{key}s"), list):
            raise ValueError(f"it has no list '{key}s'")
        left_out = len(values) == 1 and not any(isinstance(run, dict) and key in run for run in runs)
        runs = [
            _with_value(run, number, key, values, left_out, key in optional) if isinstance(run, dict) else run
            for number, run in enumerate(runs)
        ]
    return {**content, "runs": runs}


def _with_value(
    run: dict[str, Any], number: int, key: str, values: list[Any], left_out: bool, optional: bool
) -> dict[str, Any]:
    index = 0 if left_out else run.get(key)
    if index is None and optional:
        return run
    if type(index) is not int or not 0 <= index < len(values):
        raise ValueError(
            f"'runs.{number}.{key}' should be the index of one of {len(values)} {key}s, counted from 0, but is "
            f"{'missing' if index is None else shortened(index)}"
        )
    return {**run, key: values[index]}
