"""The changes between two results of the same scenario, and whether they exceed the spread of the seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

from rich.table import Table

from if2net.errors import ConfigurationError
from if2net.study.bench.display import ACC, BWT, FWT, Metric
from if2net.study.bench.protocol import DIGITS
from if2net.study.bench.results import Results, Run
from if2net.study.report.gather import Section

CONFIDENCE = 0.95
# Accuracies in files are rounded, and results of other versions may have more decimals.
ROUNDING = 10**-DIGITS


@dataclass(frozen=True)
class Difference:
    """B − A of one metric of one method, with half the width of its 95 % interval; None with one seed."""

    method: str
    metric: Metric
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
        if max(abs(self.mean), self.half_width) < ROUNDING:
            return "the same"
        if abs(self.mean) <= self.half_width:
            return "within the spread"
        return "better" if self.mean > 0 else "worse"


def compare(before: Results, after: Results) -> list[Difference]:
    """Compare every metric of every method that both results have."""
    for key in ("scenario", "protocol"):
        first, second = getattr(before, key), getattr(after, key)
        if first != second:
            raise ConfigurationError(
                f"Results of {first} and of {second} cannot be compared; choose two of the same {key}."
            )
    shared = [name for name in before.methods() if name in after.methods()]
    if not shared:
        raise ConfigurationError(
            f"The results have no method in common ({', '.join(before.methods())}; {', '.join(after.methods())}), "
            "so there is nothing to compare; run the same method in both."
        )
    return [difference(metric, before.of(name), after.of(name)) for name in shared for metric in (ACC, BWT, FWT)]


def difference(metric: Metric, before: Sequence[Run], after: Sequence[Run]) -> Difference:
    """Compare one metric: paired by seed where both have the same seeds and so the same class orders, else Welch."""
    values = [{run.seed: getattr(run, metric.key) for run in runs} for runs in (before, after)]
    first, second = ([own[seed] for seed in sorted(own)] for own in values)
    if min(len(first), len(second)) < 2:
        half, test = None, "one seed"
    elif values[0].keys() == values[1].keys():
        half, test = paired_half_width(first, second), "paired"
    else:
        half, test = welch_half_width(first, second), "Welch"
    return Difference(before[0].label, metric, fmean(first), fmean(second), half, test)


def tied(section: Section, metric: Metric) -> set[str]:
    """The names of the best series and of those tied with it.

    Tied are series within the standard deviation of the best whose 95 % interval of the difference, paired by seed,
    contains 0. The interval alone would also contain 0 where a spread is large enough.
    """
    best = max(section.competing, key=lambda series: series.mean(metric.key))
    least = best.mean(metric.key) - best.deviation(metric.key)
    near = [series for series in section.competing if series.mean(metric.key) >= least]
    behind = {entry.name: difference(metric, best.runs, entry.runs) for entry in near}
    return {name for name, entry in behind.items() if entry.mean == 0 or entry.verdict == "within the spread"}


def paired_half_width(before: Sequence[float], after: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean difference of pairs.

    >>> paired_half_width([0.1, 0.5], [0.2, 0.6]) < 1e-12
    True
    """
    changes = [b - a for a, b in zip(before, after, strict=True)]
    return _quantile(len(changes) - 1) * math.sqrt(variance(changes) / len(changes))


def welch_half_width(before: Sequence[float], after: Sequence[float]) -> float:
    """Half of the 95 % interval of the difference of two means with different variances."""
    first, second = variance(before) / len(before), variance(after) / len(after)
    if first + second == 0:
        return 0.0
    freedom = (first + second) ** 2 / (first**2 / (len(before) - 1) + second**2 / (len(after) - 1))
    return _quantile(freedom) * math.sqrt(first + second)


def comparison_table(differences: Sequence[Difference], title: str) -> Table:
    """ACC in percent, BWT and FWT as fractions; each difference with its 95 % interval."""
    caption = (
        "Intervals of 95 %, paired by seed where both have the same seeds, else Welch's. Of twenty figures that did "
        "not change, about one is called better or worse by chance."
    )
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for heading in ("method", "metric", "A", "B", "B − A", "verdict", "test"):
        table.add_column(heading, justify="right" if heading in ("A", "B", "B − A") else "left")
    for entry in differences:
        factor, digits = entry.metric.factor, entry.metric.digits
        change = f"{factor * entry.mean:+.{digits}f}"
        if entry.half_width is not None:
            change += f" ± {factor * entry.half_width:.{digits}f}"
        before, after = (f"{factor * value:.{digits}f}" for value in (entry.before, entry.after))
        table.add_row(entry.method, entry.metric.heading, before, after, change, entry.verdict, entry.test)
    return table


def changes(before: Results, after: Results) -> list[str]:
    """Everything else that differs: settings, environments, and methods that only one of them has."""
    settings = [
        line
        for method in before.settings.keys() & after.settings.keys()
        for line in _changed(f"{method}.", before.settings[method], after.settings[method])
    ]
    lines = [*sorted(settings), *_moved(before, after)]
    for name, mine, other in (("the first", before, after), ("the second", after, before)):
        only = [method for method in mine.methods() if method not in other.methods()]
        lines += [f"Only {name} has {', '.join(only)}."] if only else []
    return lines


def _moved(before: Results, after: Results) -> list[str]:
    """The changes of environment of the methods that both have; the methods are named if it is not all of them."""
    shared = [method for method in before.methods() if method in after.methods()]
    moves: dict[str, list[str]] = {}
    for method in shared:
        for line in _changed("", _facts(before.of(method)), _facts(after.of(method))):
            moves.setdefault(line, []).append(method)
    return [line if methods == shared else f"{line} ({', '.join(methods)})" for line, methods in moves.items()]


def _facts(runs: Sequence[Run]) -> dict[str, str]:
    """The environments of some runs as one, with all values of each entry."""
    values: dict[str, set[str]] = {}
    for run in runs:
        for key, value in run.environment.items():
            values.setdefault(key, set()).add("not known" if value is None else str(value))
    return {key: " and ".join(sorted(found)) for key, found in values.items()}


def _changed(prefix: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    keys = [*before, *(key for key in after if key not in before)]
    return [
        f"{prefix}{key}: {before.get(key, 'not set')} → {after.get(key, 'not set')}"
        for key in keys
        if before.get(key, "not set") != after.get(key, "not set")
    ]


def _quantile(freedom: float) -> float:
    """The quantile of Student's t with CONFIDENCE between its negative and itself."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
