"""ablation-stability (ours): the same data in 5 to 500 tasks; with more tasks than classes, classes come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from if2net.config import Config
from if2net.study.ablations.cells import Ablation, Bench, Entry, Results
from if2net.study.ablations.drawing import Line, line_figure
from if2net.study.ablations.tables import seeds_of, shown
from if2net.study.bench import metrics
from if2net.study.bench.display import markdown
from if2net.study.bench.stream import matrix
from if2net.study.data import Task
from if2net.study.methods.if2net import IF2NetMethod

TASKS = (5, 10, 50, 100, 500)
RULES: dict[str, dict[str, Any]] = {
    "analytic": {"rule": "analytic"},
    # Found on validation data of five tasks: results/searched/tune/fashion-mnist-agnostic-gradient-wide.json.
    "gradient": {"rule": "gradient", "mu": 100.0, "alpha": 0.1, "epochs": 5},
}
# Nothing here depends on how much data the first task has: no scale and no spread is learned from it.
ENCODER: dict[str, Any] = {"encoder": "wide", "layers": "500", "direct": False, "standardise": "none", "follow": 0.0}
TEST_SAMPLES = 2000


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    rule, _, count = cell.partition(", ")
    tasks = pieces(bench.stream(seed), int(count))
    method = IF2NetMethod(bench.inputs, seed, bench.device, Config.of(**ENCODER, **RULES[rule]))
    rows = []
    for learned, task in enumerate(tasks, start=1):
        method.learn(task.train_X, task.train_y)
        rows.append(_accuracies(method, tasks[:learned]))
    R = matrix(rows)
    numbers = {"acc": metrics.acc(R), "bwt": metrics.bwt(R), "free": method.net.free_share()}
    return [{"protocol": "agnostic", **numbers}]


def pieces(tasks: Sequence[Task], count: int) -> list[Task]:
    """The tasks cut into `count` smaller ones of equal size, in turn: task 1, task 2, ..., then task 1 again.

    They hold the same training samples and the same test samples however many they are.
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


def _accuracies(method: IF2NetMethod, tasks: Sequence[Task]) -> list[float]:
    """The accuracy on each task, with all predictions made at once: hundreds of small batches would take long."""
    predicted = method.predict(np.concatenate([task.test_X for task in tasks]))
    right = predicted == np.concatenate([task.test_y for task in tasks])
    ends = np.cumsum([len(task.test_y) for task in tasks])[:-1]
    return [float(part.mean()) for part in np.split(right, ends)]


def table(results: Results) -> str:
    rows = [
        [*entry["cell"].split(", "), shown(entry, "acc", 2, 100), shown(entry, "bwt", 3), shown(entry, "free", 3)]
        for entry in results["summary"]
    ]
    headings = ["rule", "tasks", "ACC %", "BWT", "tr(P)/S"]
    return f"The data of {results['scenario']}, agnostic, {seeds_of(results)}.\n\n{markdown(headings, rows)}"


def figure(results: Results) -> str:
    """ACC of both rules against the number of tasks."""
    lines = []
    for rule in RULES:
        accs = [entry["acc"] for entry in results["summary"] if entry["cell"].startswith(rule)]
        lines.append(Line(f"{rule} rule", *([100 * acc[key] for acc in accs] for key in ("mean", "std"))))
    title = f"The data of {results['scenario']} in more and more tasks"
    return line_figure(title, "tasks that the same data is cut into", "ACC %", TASKS, lines, logarithmic=True)


ABLATION = Ablation(
    "ablation-stability",
    "ACC, BWT and tr(P)/S for 5 to 500 tasks with the same data (ours)",
    "fashion-mnist-10/5",
    tuple(f"{rule}, {count}" for rule in RULES for count in TASKS),
    run,
    table,
    figure,
)
