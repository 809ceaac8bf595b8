"""The commands that run results again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from if2net.encoder import INNATE
from if2net.errors import ConfigurationError
from if2net.study.bench import hyperparameters
from if2net.study.bench.results import Results
from if2net.study.bench.settings import resolve
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS


def commands(results: Results) -> list[str]:
    """Return one command for each range of seeds, with every setting that is not the default."""
    methods = list(dict.fromkeys(run.method for run in results.runs))
    words = ["if2net", "run", results.scenario]
    for method in methods:
        words += ["-m", method]
    if results.protocol != "agnostic":
        words += ["--protocol", results.protocol]
    for setting in _changed(results, methods):
        words += ["--set", setting]
    ranges = _ranges(sorted({run.seed for run in results.runs}))
    return [shlex.join([*words, "--seed", str(first), "--runs", str(count)]) for first, count in ranges]


def _changed(results: Results, methods: Sequence[str]) -> list[str]:
    """method.key=value for every setting that differs from this version's default; seed and device are options."""
    changed = []
    for method in methods:
        recorded = results.settings.get(method, {})
        defaults = _defaults(method, recorded.get("encoder"), results.scenario, results.protocol)
        for key, value in recorded.items():
            if key not in ("seed", "device") and key in defaults and defaults[key] != value:
                changed.append(f"{method}.{key}={'none' if value is None else value}")
    return changed


def _defaults(method: str, encoder: object, scenario: str, protocol: str) -> dict[str, Any]:
    """The settings of `if2net run` with this encoder; none where this version lacks the method or the data set."""
    if method not in METHODS:
        return {}
    try:
        parsed = parse_scenario(scenario)
        searched = hyperparameters.searched([method], parsed.dataset, protocol, backbone=parsed.backbone)
    except ConfigurationError:
        return {}
    pictures = hyperparameters.for_pictures(parsed, protocol, []) if method == "if2net" else []
    innate = pictures if str(encoder) in INNATE else []
    defaults = asdict(resolve([method], protocol, innate or searched)[method])
    if pictures and not innate:
        defaults["encoder"] = None  # always named, since without it the innate encoder is used
    return defaults


def _ranges(seeds: Sequence[int]) -> list[tuple[int, int]]:
    """The first seed and the length of each range.

    >>> _ranges([0, 1, 2, 7])
    [(0, 3), (7, 1)]
    """
    runs = groupby(enumerate(seeds), key=lambda pair: pair[1] - pair[0])  # equal within a range
    ranges = [[seed for _, seed in run] for _, run in runs]
    return [(seeds[0], len(seeds)) for seeds in ranges]
