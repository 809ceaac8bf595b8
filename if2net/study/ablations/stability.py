"""ablation-stability (ours): the same data in 5 to 500 tasks. Where tasks outnumber classes, classes come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from if2net.config import Config
from if2net.study.ablations.ablation import Ablation, Bench, Entry, Measurements
from if2net.study.bench import metrics
from if2net.study.bench.display import markdown
from if2net.study.bench.protocol import at_once
from if2net.study.data import Task
from if2net.study.methods.if2net import IF2NetMethod
from if2net.study.report.charts import Chart, Line, line_chart

TASKS = (5, 10, 50, 100, 500)
RULES: dict[str, dict[str, Any]] = {
    "analytic": {"rule": "analytic"},
    # The best on held-back training data of five tasks:
    # results/search/earlier/fashion-mnist-agnostic-gradient-wide.json.
    "gradient": {"rule": "gradient", "mu": 100.0, "alpha": 0.1, "epochs": 5},
}
# Independent of the amount of data in the first task: neither scale nor spread is learned from it.
ENCODER: dict[str, Any] = {"encoder": "wide", "layers": "500", "direct": False, "standardise": "none", "follow": 0.0}
TEST_SAMPLES = 2000


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """Measure one rule with one number of tasks."""
    rule, _, count = cell.partition(", ")
    tasks = pieces(bench.stream(seed), int(count))
    method = IF2NetMethod(bench.inputs, seed, bench.device, Config.of(**ENCODER, **RULES[rule]))
    R: list[list[float]] = []
    for learned, task in enumerate(tasks, start=1):
        method.learn(task.train_X, task.train_y)
        seen = tasks[:learned]
        answers = at_once(method, seen)  # hundreds of small batches would take long
        R.append([float((own == old.test_y).mean()) for own, old in zip(answers, seen, strict=True)])
    numbers = {"acc": metrics.acc(R), "bwt": metrics.bwt(R), "free": method.net.free_share()}
    return [Entry("agnostic", numbers)]


def pieces(tasks: Sequence[Task], count: int) -> list[Task]:
    """Cut the tasks into `count` smaller ones of equal size, in turn: task 1, task 2, ..., then task 1 again.

    Training samples and test samples are the same for every count.
    """
    rounds = count // len(tasks)
    few = TEST_SAMPLES // len(tasks)
    whole = [(task.train_X, task.train_y, task.test_X[:few], task.test_y[:few]) for task in tasks]
    cut = [[np.array_split(part, rounds) for part in parts] for parts in whole]
    return [
        Task(turn * len(tasks) + task.index, task.classes, *(part[turn] for part in parts))
        for turn in range(rounds)
        for task, parts in zip(tasks, cut, strict=True)
    ]


def table(results: Measurements) -> str:
    """ACC, BWT and the share of free directions, by rule and number of tasks."""
    rows = [
        [*entry.cell.split(", "), entry.text("acc", 2, 100), entry.text("bwt", 3), entry.text("free", 3)]
        for entry in results.summary
    ]
    headings = ["rule", "tasks", "ACC %", "BWT", "tr(P)/S"]
    return f"The data of {results.scenario}, agnostic, {results.seeds}.\n\n{markdown(headings, rows)}"


def figure(results: Measurements) -> Chart:
    """Draw ACC of both rules against the number of tasks."""
    lines = []
    for rule in RULES:
        accuracies = [entry.numbers["acc"] for entry in results.summary if entry.cell.startswith(rule)]
        means, deviations = [100 * acc.mean for acc in accuracies], [100 * acc.std for acc in accuracies]
        lines.append(Line(f"{rule} rule", means, deviations))
    title = f"The data of {results.scenario} in more and more tasks"
    return line_chart(title, "tasks that the same data is cut into", "ACC %", TASKS, lines)


CELLS = tuple(f"{rule}, {count}" for rule in RULES for count in TASKS)
ABLATION = Ablation(
    "ablation-stability",
    "ACC, BWT and tr(P)/S for 5 to 500 tasks with the same data (ours)",
    CELLS,
    run,
    table,
    figure,
)
