"""What changed between two results, and whether it is more than the seeds' spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

from rich.table import Table

from if2net.errors import ConfigurationError
from if2net.study.bench.results import label
from if2net.study.report.gather import devices_of

METRICS = ("acc", "bwt", "fwt")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """B − A of one metric of one method: its mean, and half the width of its 95 % interval (None with one seed)."""

    method: str
    metric: str
    before: float
    after: float
    half_width: float | None
    test: str

    @property
    def mean(self) -> float:
        return self.after - self.before

    @property
    def verdict(self) -> str:
        if self.half_width is None:
            return "cannot say"
        if self.mean == self.half_width == 0:
            return "the same"
        if abs(self.mean) <= self.half_width:
            return "within the spread"
        return "better" if self.mean > 0 else "worse"


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    """Every metric of every method that both results have."""
    for key in ("scenario", "protocol"):
        if before[key] != after[key]:
            raise ConfigurationError(
                f"Results of {before[key]} and of {after[key]} cannot be compared; choose two of the same {key}."
            )
    first, second = _by_seed(before), _by_seed(after)
    shared = [name for name in first if name in second]
    if not shared:
        raise ConfigurationError(
            f"The results have no method in common ({', '.join(first)}; {', '.join(second)}), "
            "so there is nothing to compare; run the same method in both."
        )
    return [difference(name, metric, first[name], second[name]) for name in shared for metric in METRICS]


def difference(
    method: str, metric: str, before: dict[int, dict[str, Any]], after: dict[int, dict[str, Any]]
) -> Difference:
    """Paired by seed where both have the same seeds, which meet the same class order; else Welch's interval."""
    first, second = ([runs[seed][metric] for seed in sorted(runs)] for runs in (before, after))
    paired = before.keys() == after.keys()
    if min(len(first), len(second)) < 2:
        half, test = None, "one seed"
    elif paired:
        half, test = paired_half_width(first, second), "paired"
    else:
        half, test = welch_half_width(first, second), "Welch"
    return Difference(method, metric, fmean(first), fmean(second), half, test)


def paired_half_width(before: Sequence[float], after: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean difference: what the pairs have in common drops out.

    >>> paired_half_width([0.1, 0.5], [0.2, 0.6]) < 1e-12
    True
    """
    changes = [b - a for a, b in zip(before, after, strict=True)]
    return _quantile(len(changes) - 1) * math.sqrt(variance(changes) / len(changes))


def welch_half_width(before: Sequence[float], after: Sequence[float]) -> float:
    """Half of the 95 % interval of the difference of two means with spreads of their own."""
    first, second = variance(before) / len(before), variance(after) / len(after)
    if first + second == 0:
        return 0.0
    freedom = (first + second) ** 2 / (first**2 / (len(before) - 1) + second**2 / (len(after) - 1))
    return _quantile(freedom) * math.sqrt(first + second)


def comparison_table(found: Sequence[Difference], title: str) -> Table:
    """ACC in percent, BWT and FWT as fractions; the difference with its 95 % interval."""
    caption = (
        "Intervals of 95 %, paired by seed where both have the same seeds, else Welch's. Of twenty figures that did "
        "not change, about one is called better or worse by chance."
    )
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for heading in ("method", "metric", "A", "B", "B − A", "verdict", "test"):
        table.add_column(heading, justify="right" if heading in ("A", "B", "B − A") else "left")
    for entry in found:
        factor, digits, name = (100, 2, "ACC %") if entry.metric == "acc" else (1, 4, entry.metric.upper())
        change = f"{factor * entry.mean:+.{digits}f}"
        if entry.half_width is not None:
            change += f" ± {factor * entry.half_width:.{digits}f}"
        before, after = (f"{factor * value:.{digits}f}" for value in (entry.before, entry.after))
        table.add_row(entry.method, name, before, after, change, entry.verdict, entry.test)
    return table


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What else differs: settings, environment, devices, and methods that only one of them has."""
    found = []
    for method in before["settings"].keys() & after["settings"].keys():
        found += _changed(f"{method}.", before["settings"][method], after["settings"][method])
    found = sorted(found) + _changed("", *({**results["environment"], "device": ""} for results in (before, after)))
    found += _moved(before, after)
    for name, mine, other in (("the first", before, after), ("the second", after, before)):
        only = [method for method in _by_seed(mine) if method not in _by_seed(other)]
        found += [f"Only {name} has {', '.join(only)}."] if only else []
    return found


def _moved(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Methods whose runs are of another device; the environment knows one device only."""
    first, second = _by_seed(before), _by_seed(after)
    moves: dict[str, list[str]] = {}
    for method in [method for method in first if method in second]:
        own, other = devices_of(before, first[method].values()), devices_of(after, second[method].values())
        if set(own) != set(other):
            moves.setdefault(f"{' and '.join(own)} → {' and '.join(other)}", []).append(method)
    return [f"device of {', '.join(methods)}: {move}" for move, methods in moves.items()]


def _changed(prefix: str, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    keys = [*before, *(key for key in after if key not in before)]
    return [
        f"{prefix}{key}: {before.get(key, 'not set')} → {after.get(key, 'not set')}"
        for key in keys
        if before.get(key, "not set") != after.get(key, "not set")
    ]


def _by_seed(results: dict[str, Any]) -> dict[str, dict[int, dict[str, Any]]]:
    """Method (with its variant) → seed → run."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for run in results["runs"]:
        found.setdefault(label(run), {})[run["seed"]] = run
    return found


def _quantile(freedom: float) -> float:
    """Of Student's t, so that CONFIDENCE lies between minus this and this."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
