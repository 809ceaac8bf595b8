"""figure-rademacher: how well cases (a) to (e) fit random labels, summed over the tasks learned so far."""

from __future__ import annotations

from statistics import fmean

import numpy as np

from if2net.study.ablations.cases import CASES, Sizes, new_case
from if2net.study.ablations.cells import Ablation, Bench, Entry, Results
from if2net.study.ablations.drawing import Line, line_figure
from if2net.study.ablations.tables import seeds_of, shown
from if2net.study.bench.display import markdown
from if2net.study.methods import Method

SIZES = Sizes(epochs=10)
SAMPLES = 2000  # m, of each task
# The task is told where there is a representation for each.
REPRESENTATIONS = {"first": "agnostic", "per-task": "aware"}


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """Every seed draws labels ε anew: their mean is the expectation in the definition."""
    random = np.random.default_rng(seed)
    samples = [task.train_X[:SAMPLES] for task in bench.stream(seed)]
    signs = [random.choice([-1, 1], size=len(X)) for X in samples]
    entries = []
    for representation, protocol in REPRESENTATIONS.items():
        if cell == "a" and representation == "per-task":
            continue  # without a frozen layer nothing depends on the protocol
        method = new_case(cell, representation, bench.inputs, seed, bench.device, SIZES)
        rows = fitted(method, samples, signs)
        sums = {f"after {count}": float(sum(row)) for count, row in enumerate(rows, start=1)}
        entries.append({"protocol": protocol, **sums, "newest": fmean(row[-1] for row in rows), "fits": rows})
    return entries


def fitted(method: Method, samples: list[np.ndarray], signs: list[np.ndarray]) -> list[list[float]]:
    """Learn the random labels task by task; after each, the fit of all of them so far."""
    rows = []
    for count, (X, epsilon) in enumerate(zip(samples, signs, strict=True), start=1):
        method.learn(X, (epsilon + 1) // 2)
        seen = zip(samples[:count], signs[:count], strict=True)
        rows.append([correlation(method, X, epsilon, task) for task, (X, epsilon) in enumerate(seen)])
    return rows


def correlation(method: Method, X: np.ndarray, epsilon: np.ndarray, task: int) -> float:
    """(1/m) Σ h(xᵢ)εᵢ of the paper's definition; for the sup stands the learned model, whose answers are −1 and 1."""
    answers = 2 * method.predict(X, task=task) - 1
    return float(np.mean(answers * epsilon))


def table(results: Results) -> str:
    steps = _steps(results)
    rows = []
    for entry in results["summary"]:
        growth = entry[steps[-1]]["mean"] - entry[steps[0]]["mean"]
        protocol = "any" if entry["cell"] == "a" else entry["protocol"]
        numbers = [shown(entry, step, 3) for step in steps] + [f"{growth:.3f}", shown(entry, "newest", 3)]
        rows.append([f"({entry['cell']}) {CASES[entry['cell']]}", protocol, *numbers])
    headings = ["case", "protocol", *(step.replace("after", "after task") for step in steps)]
    headings += ["growth", "newest task alone"]
    note = f"{results['scenario']}, {SAMPLES:,} samples a task, {seeds_of(results)}."
    return f"{note}\n\n{markdown(headings, rows, words=2)}"


def figure(results: Results) -> str:
    """The frozen layers' own representations, as in the paper: the task is told."""
    steps = _steps(results)
    lines = []
    for entry in results["summary"]:
        if entry["cell"] == "a" or entry["protocol"] == "aware":
            values = [entry[step] for step in steps]
            name = f"({entry['cell']}) {CASES[entry['cell']]}"
            lines.append(Line(name, [value["mean"] for value in values], [value["std"] for value in values]))
    title = f"Fit of random labels, summed over the tasks so far ({results['scenario']}; (b) to (e) told the task)"
    return line_figure(title, "tasks learned", "Rademacher complexity", range(1, len(steps) + 1), lines)


def _steps(results: Results) -> list[str]:
    return [key for key in results["summary"][0] if key.startswith("after")]


ABLATION = Ablation(
    "figure-rademacher",
    "empirical Rademacher complexity over the tasks, cases (a) to (e)",
    "fashion-mnist-10/5",
    tuple(CASES),
    run,
    table,
    figure,
)
