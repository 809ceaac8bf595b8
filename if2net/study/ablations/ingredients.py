"""ablation-ingredients (ours): the effect of each ingredient under the agnostic protocol."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from if2net.config import Config
from if2net.study.ablations.ablation import Ablation, Bench, Entry, Measurements, first_of_each_class
from if2net.study.ablations.readings import follow
from if2net.study.bench.display import markdown
from if2net.study.data import Task
from if2net.study.methods.if2net import IF2NetMethod

PER_CLASS = 2000  # training samples: a third of them, since the gradient rule is slow
# Factor → level → settings. The default comes first.
FACTORS: dict[str, dict[str, dict[str, Any]]] = {
    "tweak": {"plain": {"tweaked": False}, "tweaked": {"tweaked": True}},
    "rule": {
        "analytic, ridge chosen": {"rule": "analytic"},
        # Below the rounding of some G in float32, so the learner would refuse it.
        "analytic, ridge 1e-4": {"rule": "analytic", "ridge": 1e-4, "dtype": "float64"},
        "analytic, ridge 0.1": {"rule": "analytic", "ridge": 0.1},
        # The best on held-back training data: results/search/earlier/fashion-mnist-agnostic-gradient-wide.json.
        "gradient": {"rule": "gradient", "mu": 100.0, "alpha": 0.1, "epochs": 5},
    },
    "width": {"1000": {"layers": "100x10"}, "250": {"layers": "25x10"}},
    "link": {"direct link": {"direct": True}, "no direct link": {"direct": False}},
}
SEPARATOR = "; "
# The effect of an ingredient may differ between the rules, so it is shown for all of them and for two alone.
EVERY = "all rules"
SHOWN = (EVERY, "analytic, ridge chosen", "gradient")


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """Measure one combination."""
    fresh = partial(IF2NetMethod, bench.inputs, seed, bench.device, config_of(cell))
    tasks = [fewer(task) for task in bench.stream(seed)]
    return follow(fresh, tasks, [("agnostic", "")], alone=False)


def config_of(cell: str) -> Config:
    """The configuration of a combination."""
    settings: dict[str, Any] = {"encoder": "wide"}
    for levels, level in zip(FACTORS.values(), cell.split(SEPARATOR), strict=True):
        settings |= levels[level]
    return Config.of(**settings)


def fewer(task: Task) -> Task:
    """The task with at most PER_CLASS training samples per class."""
    kept = first_of_each_class(task, PER_CLASS)
    return replace(task, train_X=task.train_X[kept], train_y=task.train_y[kept])


def table(results: Measurements) -> str:
    """The mean effect of a change of one ingredient, and ACC and BWT of every combination."""
    worth = [
        [factor, f"{before} → {after}", *(_points(results, factor, before, after, rule) for rule in SHOWN)]
        for factor, levels in FACTORS.items()
        for before, after in itertools.product(list(levels)[:1], list(levels)[1:])
    ]
    cells = [
        [*entry.cell.split(SEPARATOR), entry.text("acc", 2, 100), entry.text("bwt", 3)] for entry in results.summary
    ]
    return "\n\n".join(
        [
            f"{results.scenario}, agnostic, {PER_CLASS:,} training samples per class, {results.seeds}.",
            markdown(["ingredient", "change", *(f"ACC, points: {rule}" for rule in SHOWN)], worth, words=2),
            markdown([*FACTORS, "ACC %", "BWT"], cells, words=len(FACTORS)),
        ]
    )


def _points(results: Measurements, factor: str, before: str, after: str, rule: str) -> str:
    return "" if factor == "rule" and rule != EVERY else f"{worth_of(results, factor, before, after, rule):+.2f}"


def worth_of(results: Measurements, factor: str, before: str, after: str, rule: str = EVERY) -> float:
    """The change of ACC with one factor alone, in points: the mean over seeds and cells, or the cells of one rule."""
    acc = {(run.cell, run.seed): run.numbers["acc"] for run in results.runs}
    place = list(FACTORS).index(factor)
    changes = []
    for (cell, seed), value in acc.items():
        levels = cell.split(SEPARATOR)
        if levels[place] == before and rule in (EVERY, levels[1]):
            other = SEPARATOR.join([*levels[:place], after, *levels[place + 1 :]])
            changes.append(100 * (acc[other, seed] - value))
    return fmean(changes)


CELLS = tuple(SEPARATOR.join(levels) for levels in itertools.product(*FACTORS.values()))
ABLATION = Ablation(
    "ablation-ingredients", "the effect of tweak, rule, ridge, width and direct link (ours)", CELLS, run, table
)
