"""Searches settings without test data: on a task stream that is not reported, tested on held-back training data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError, NumericalError
from if2net.study.bench import metrics
from if2net.study.bench.protocol import PROTOCOLS
from if2net.study.bench.results import write_json
from if2net.study.bench.rows import Loader
from if2net.study.bench.settings import Given, resolve
from if2net.study.bench.stream import Plan, ShowStep, learn_stream
from if2net.study.bench.workers import Job, results_of
from if2net.study.data import Dataset, Scenario
from if2net.study.pretraining.held_out import with_seed

# Reported runs have seeds from 0 on. The stream of this seed is for searches only.
SEARCH_SEED = 1_000_003

Grid = dict[str, list[str]]


@dataclass(frozen=True)
class Trial:
    """One combination of a grid: ACC by variant ("acc" where there is one), or the error of one that fails."""

    settings: dict[str, str] = field(default_factory=dict)
    acc: dict[str, float] = field(default_factory=dict)
    seconds: float | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The trial as a JSON object."""
        outcome = {"error": self.error} if self.error else {**self.acc, "seconds": self.seconds}
        return {"settings": self.settings, **outcome}


@dataclass(frozen=True)
class Search:
    """A finished search: all trials, and for each variant the settings with the highest ACC."""

    scenario: str
    protocol: str
    method: str
    fixed: Given
    tried: list[Trial]
    seed: int = SEARCH_SEED

    @property
    def best(self) -> dict[str, dict[str, str]]:
        """Variant → the settings with the highest ACC."""
        return {name: self._best(name) for name in (variant or "acc" for variant in PROTOCOLS[self.protocol])}

    def _best(self, variant: str) -> dict[str, str]:
        computed = [trial for trial in self.tried if variant in trial.acc]
        if not computed:
            last = self.tried[-1].error
            raise NumericalError(f"No combination of the grid could be computed; try others. The last error: {last}")
        return max(computed, key=lambda trial: trial.acc[variant]).settings

    def write(self, path: Path) -> None:
        """Write everything that was tried as JSON."""
        head = {"scenario": self.scenario, "protocol": self.protocol, "method": self.method, "seed": self.seed}
        fixed = [list(setting) for setting in self.fixed]
        tried = [trial.as_dict() for trial in self.tried]
        write_json(path, {**head, "fixed": fixed, "tried": tried, "best": self.best})


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
    loader: Loader,
    method: str,
    grid: Grid,
    *,
    protocol: str = "agnostic",
    fixed: Given | None = None,
    device: str = "cpu",
    jobs: int = 1,
    show: Callable[[Trial], None] | None = None,
) -> Search:
    """Try every combination of the grid; the best has the highest ACC on the held-back training data.

    Under the transductive protocol, `best` has an entry for each variant.
    """
    scenario = with_seed(scenario, 0)  # an existing backbone will do, since the stream is not reported
    tried = [Trial(dict(zip(grid, values, strict=True))) for values in itertools.product(*grid.values())]
    work = []
    for trial in tried:
        combination: Given = [(None, key, value) for key, value in trial.settings.items()]
        resolved = resolve([method], protocol, [*(fixed or []), *combination])
        plan = Plan(scenario, resolved, (SEARCH_SEED,), protocol, device, validation=True)
        work.append(Job(plan, None, method, SEARCH_SEED))
    for place, outcome in results_of(attempt, work, loader, jobs):
        tried[place] = replace(outcome, settings=tried[place].settings)
        if show is not None:
            show(tried[place])
    finished = Search(scenario.name, protocol, method, list(fixed or []), tried)
    _ = finished.best  # a search without any result is an error
    return finished


def attempt(
    plan: Plan, data: Dataset, method: str, seed: int, out: Path | None = None, show: ShowStep | None = None
) -> Trial:
    """ACC under each variant, or the error of settings that cannot be computed, which must not end a search."""
    try:
        stream = learn_stream(plan, data, method, seed, out, show)
    except NumericalError as error:
        return Trial(error=str(error))
    acc = {variant or "acc": metrics.acc(metrics.matrix(rows)) for variant, rows in stream.rows.items()}
    return Trial(acc=acc, seconds=stream.seconds["learn"])
