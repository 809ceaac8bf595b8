"""Searches settings on held-back training data of a task stream that is not reported."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError, NumericalError, check_once
from if2net.study.bench import metrics
from if2net.study.bench.environment import Environment, environment
from if2net.study.bench.loading import Loader
from if2net.study.bench.protocol import PROTOCOLS
from if2net.study.bench.results import rounded, write_json
from if2net.study.bench.settings import Setting, resolve
from if2net.study.bench.stream import Plan, ShowStep, learn_stream
from if2net.study.bench.workers import Job, results_of
from if2net.study.data import Dataset, Scenario
from if2net.study.pretraining.per_seed import for_search

# Reported runs have seeds from 0 on. The stream of this seed is for searches only.
SEARCH_SEED = 1_000_003

FIRST_TASKS = 3  # that a search of a space learns by default: enough to show forgetting
LEAST_TRIALS, MOST_TRIALS = 12, 48  # per method and data set, the same for all
RUNGS = 12  # of a ladder, below and above its start

Grid = dict[str, list[str]]
# Setting → a ladder [start, factor] of the values start·factorᵏ, or a list of words that begins with the start.
Space = dict[str, list[Any]]


@dataclass(frozen=True)
class Trial:
    """One combination of settings: ACC by variant ("acc" if there is only one), or the error if it fails."""

    settings: dict[str, str] = field(default_factory=dict)
    acc: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the trial as a JSON object."""
        outcome = {"error": self.error} if self.error else {**rounded(self.acc), "seconds": round(self.seconds, 3)}
        return {"settings": self.settings, **outcome}


@dataclass(frozen=True)
class Search:
    """A finished search: all trials, and for each variant the settings with the highest ACC."""

    scenario: str
    protocol: str
    method: str
    fixed: Sequence[Setting]
    tried: list[Trial]
    environment: Environment
    tasks: int | None = None  # the number of first tasks that were learned; None for all tasks of a grid

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
        """Write all trials as JSON."""
        head: dict[str, Any] = {"scenario": self.scenario, "protocol": self.protocol, "method": self.method}
        head |= {"seed": SEARCH_SEED, "environment": self.environment}
        head |= {"tasks": self.tasks} if self.tasks else {}
        fixed = [list(setting) for setting in self.fixed]
        tried = [trial.as_dict() for trial in self.tried]
        write_json(path, {**head, "fixed": fixed, "tried": tried, "best": self.best})


def parse_grid(pairs: list[str]) -> Grid:
    """Read key=a,b,c.

    >>> parse_grid(["epochs=1,5", "step=0.5"])
    {'epochs': ['1', '5'], 'step': ['0.5']}
    """
    grid = {}
    check_once("grid of the setting", [pair.partition("=")[0] for pair in pairs])
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
    fixed: Sequence[Setting] = (),
    device: str = "cpu",
    jobs: int = 1,
    show: Callable[[Trial], None] | None = None,
) -> Search:
    """Try every combination of the grid; the best has the highest ACC on the held-back training data.

    Under the transductive protocol, `best` has an entry for each variant.
    """
    scenario = for_search(scenario)  # any backbone will do, since the stream is not reported
    planned = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    plan = Plan(scenario, {}, (SEARCH_SEED,), protocol, device, validation=True)
    tried = _try(plan, method, planned, fixed, loader, jobs, show)
    finished = Search(scenario.name, protocol, method, fixed, tried, environment(device))
    _ = finished.best  # raises an error if no trial succeeded
    return finished


def explore(
    scenario: Scenario,
    loader: Loader,
    method: str,
    space: Space,
    *,
    protocol: str = "agnostic",
    fixed: Sequence[Setting] = (),
    tasks: int = FIRST_TASKS,
    device: str = "cpu",
    jobs: int = 1,
    show: Callable[[Trial], None] | None = None,
) -> Search:
    """Search a space from its start. Both neighbours of the best value are tried, so the best is not at an edge.

    A trial learns the first `tasks` of the stream. The best after a few tasks are not always the best after all.
    """
    check_tasks(scenario, tasks)
    scenario, tried = for_search(scenario), list[Trial]()
    plan = Plan(scenario, {}, (SEARCH_SEED,), protocol, device, validation=True, first=tasks)
    while planned := proposals(method, space, tried, fixed, protocol):
        tried += _try(plan, method, planned, fixed, loader, jobs, show)
    return Search(scenario.name, protocol, method, fixed, tried, environment(device), tasks=tasks)


def check_tasks(scenario: Scenario, tasks: int) -> None:
    if not 1 <= tasks <= scenario.tasks:
        raise ConfigurationError(f"A search on {scenario.name} learns 1 to {scenario.tasks} tasks, not {tasks}.")


def proposals(
    method: str, space: Space, tried: list[Trial], fixed: Sequence[Setting] = (), protocol: str = "agnostic"
) -> list[dict[str, str]]:
    """Return the next settings to try: untried neighbours of the best so far, then points further away.

    Points further away are proposed until there are LEAST_TRIALS trials, neighbours until there are MOST_TRIALS. The
    first variant of the protocol decides.

    >>> proposals("slda", {"shrinkage": [0.01, 10]}, [])
    [{'shrinkage': '0.01'}]
    >>> proposals("slda", {"shrinkage": [0.01, 10]}, [Trial({"shrinkage": "0.01"}, {"acc": 0.5})])
    [{'shrinkage': '0.001'}, {'shrinkage': '0.1'}]
    """
    axes = {setting: _rungs(values) for setting, values in space.items()}
    if not tried:
        return [{setting: str(values[0]) for setting, values in space.items()}]
    best = max(tried, key=lambda trial: next(iter(trial.acc.values()), -1.0)).settings
    seen = [trial.settings for trial in tried]

    def distance(settings: dict[str, str]) -> int:
        return sum(_steps(axes[key], space[key], settings[key], best[key]) for key in axes)

    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    for steps, ring in itertools.groupby(sorted(points, key=distance), key=distance):
        fresh = [point for point in ring if point not in seen and _is_possible(method, point, fixed, protocol)]
        if fresh:
            return fresh[: max(0, (MOST_TRIALS if steps == 1 else LEAST_TRIALS) - len(tried))]
    return []


def _rungs(values: list[Any]) -> list[str]:
    """Return the words, or the values of the ladder. Whole numbers stay whole and positive.

    >>> _rungs([5, 2])[10:15]
    ['1280', '2560', '5120', '10240', '20480']
    """
    if isinstance(values[0], str):
        return values
    start, factor = values
    ladder = [start * factor**power for power in range(-RUNGS, RUNGS + 1)]
    rungs = [max(1, round(rung)) if isinstance(start, int) else float(f"{rung:.3g}") for rung in ladder]
    return [str(value) for value in dict.fromkeys(rungs)]


def _steps(axis: list[str], values: list[Any], one: str, other: str) -> int:
    """Return the number of rungs between two values; 1 between two words."""
    apart = abs(axis.index(one) - axis.index(other))
    return min(apart, 1) if isinstance(values[0], str) else apart


def _is_possible(method: str, settings: dict[str, str], fixed: Sequence[Setting], protocol: str) -> bool:
    try:
        _resolved(method, settings, protocol, fixed)
    except ConfigurationError:  # the ladder ends here
        return False
    return True


def _resolved(method: str, settings: dict[str, str], protocol: str, fixed: Sequence[Setting]) -> dict[str, Any]:
    return resolve([method], protocol, [*fixed, *((None, key, value) for key, value in settings.items())])


def _try(
    plan: Plan,
    method: str,
    planned: list[dict[str, str]],
    fixed: Sequence[Setting],
    loader: Loader,
    jobs: int,
    show: Callable[[Trial], None] | None,
) -> list[Trial]:
    """Run one trial per settings, with the plan of the search except for its settings."""
    tried = [Trial(settings) for settings in planned]
    resolved = [_resolved(method, settings, plan.protocol, fixed) for settings in planned]
    work = [Job(replace(plan, settings=settings), None, method, SEARCH_SEED) for settings in resolved]
    for place, outcome in results_of(attempt, work, loader, jobs):
        tried[place] = replace(outcome, settings=planned[place])
        if show is not None:
            show(tried[place])
    return tried


def attempt(
    plan: Plan, data: Dataset, method: str, seed: int, out: Path | None = None, show: ShowStep | None = None
) -> Trial:
    """Return ACC under each variant, or the error if the settings fail, so that the search continues."""
    try:
        stream = learn_stream(plan, data, method, seed, out, show)
    except NumericalError as error:
        return Trial(error=str(error))
    acc = {variant or "acc": metrics.acc(rows) for variant, rows in stream.rows.items()}
    return Trial(acc=acc, seconds=stream.seconds["learn"])
