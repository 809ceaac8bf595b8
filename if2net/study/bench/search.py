"""Finds settings without test data: on a task stream that is not reported, tested on held-back training data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError, NumericalError
from if2net.study.bench import metrics
from if2net.study.bench.protocol import PROTOCOLS
from if2net.study.bench.settings import Given, resolve
from if2net.study.bench.stream import Plan, Show, learn_stream, matrix
from if2net.study.bench.workers import Job, results_of
from if2net.study.data import Dataset, Scenario
from if2net.study.pretraining.held_out import with_seed

# Reported runs use seeds from 0 on; this stream is for searching only.
SEARCH_SEED = 1_000_003

Grid = dict[str, list[str]]


def parse_grid(pairs: list[str]) -> Grid:
    """Read key=a,b,c.

    >>> parse_grid(["epochs=1,5", "step=0.5"])
    {'epochs': ['1', '5'], 'step': ['0.5']}
    """
    grid = {}
    for pair in pairs:
        key, separator, values = pair.partition("=")
        if not separator or not key or not values:
            raise ConfigurationError(f"A grid is written key=value,value,..., not {pair!r}.")
        grid[key] = values.split(",")
    return grid


def search(
    scenario: Scenario,
    data: Path | None,
    method: str,
    grid: Grid,
    *,
    protocol: str = "agnostic",
    fixed: Given | None = None,
    device: str = "cpu",
    jobs: int = 1,
    show: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Try every combination of the grid; the best has the highest ACC on the held-back training data.

    Under the transductive protocol the variant with the tasks mixed is searched for itself: `best` has an entry for
    every variant.
    """
    scenario = with_seed(scenario, 0)  # a backbone that there is already; the stream is not reported
    chosen = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    plans = []
    for settings in chosen:
        combination: Given = [(None, key, value) for key, value in settings.items()]
        resolved = resolve([method], protocol, [*(fixed or []), *combination])
        plans.append(Plan(scenario, resolved, (SEARCH_SEED,), protocol, device, validation=True))
    tried: list[dict[str, Any]] = [{"settings": settings} for settings in chosen]
    work = [Job(plan, None, method, SEARCH_SEED) for plan in plans]
    for place, found in results_of(outcome, work, data, jobs):
        tried[place].update(found)
        if show is not None:
            show(tried[place])
    best = {variant or "acc": _best(tried, variant or "acc") for variant in PROTOCOLS[protocol]}
    return {
        "scenario": scenario.name,
        "protocol": protocol,
        "method": method,
        "seed": SEARCH_SEED,
        "fixed": [[scope, key, value] for scope, key, value in fixed or []],
        "tried": tried,
        "best": best,
    }


def outcome(
    plan: Plan, data: Dataset, method: str, seed: int, out: Path | None = None, show: Show | None = None
) -> dict[str, Any]:
    """ACC under every variant, or why there is none: settings that cannot be computed with must not end a search."""
    try:
        run = learn_stream(plan, data, method, seed, out, show)
    except NumericalError as error:
        return {"error": str(error)}
    found = {variant or "acc": metrics.acc(matrix(rows)) for variant, rows in run.rows.items()}
    return {**found, "seconds": run.seconds["learn"]}


def _best(tried: list[dict[str, Any]], variant: str) -> dict[str, str]:
    worked = [entry for entry in tried if variant in entry]
    if not worked:
        raise NumericalError(f"No combination of the grid could be computed; the last one said: {tried[-1]['error']}")
    return max(worked, key=lambda entry: entry[variant])["settings"]
