"""figure-rademacher: how well cases (a) to (e) fit random labels, summed over the tasks learned so far."""

from __future__ import annotations

from statistics import fmean

import numpy as np

from if2net.study.ablations.ablation import Ablation, Bench, Entry, Measurements
from if2net.study.ablations.cases import CASES, Sizes, new_case
from if2net.study.ablations.readings import REPRESENTATIONS
from if2net.study.bench.display import markdown
from if2net.study.methods import Method
from if2net.study.report.charts import Chart, Line, line_chart

SIZES = Sizes(epochs=10)
SAMPLES = 2000  # m, per task


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """Measure the fit of random labels ε. Each seed draws its own; their mean is the expectation in the paper."""
    random = np.random.default_rng(seed)
    samples = [task.train_X[:SAMPLES] for task in bench.stream(seed)]
    signs = [random.choice([-1, 1], size=len(X)) for X in samples]
    entries = []
    # Without a frozen layer, nothing depends on the protocol.
    for protocol in ("agnostic",) if cell == "a" else ("agnostic", "aware"):
        method = new_case(cell, REPRESENTATIONS[protocol], bench.inputs, seed, bench.device, SIZES)
        rows = fitted(method, samples, signs)
        sums = {f"after {count}": float(sum(row)) for count, row in enumerate(rows, start=1)}
        numbers = {**sums, "newest": fmean(row[-1] for row in rows)}
        entries.append(Entry(protocol, numbers, {"fits": rows}))
    return entries


def fitted(method: Method, samples: list[np.ndarray], signs: list[np.ndarray]) -> list[list[float]]:
    """Learn the random labels task by task; after each task, the fit of all tasks so far."""
    rows = []
    for count, (X, epsilon) in enumerate(zip(samples, signs, strict=True), start=1):
        method.learn(X, (epsilon + 1) // 2)
        seen = zip(samples[:count], signs[:count], strict=True)
        rows.append([correlation(method, X, epsilon, task) for task, (X, epsilon) in enumerate(seen)])
    return rows


def correlation(method: Method, X: np.ndarray, epsilon: np.ndarray, task: int) -> float:
    """(1/m) Σ h(xᵢ)εᵢ of the paper's definition. The learned model, which answers −1 or 1, replaces the sup."""
    answers = 2 * method.predict(X, task=task) - 1
    return float(np.mean(answers * epsilon))


def table(results: Measurements) -> str:
    """The fit after each task, its growth, and the fit of the newest task, by case and protocol."""
    steps = _steps(results)
    rows = []
    for entry in results.summary:
        growth = entry.numbers[steps[-1]].mean - entry.numbers[steps[0]].mean
        protocol = "any" if entry.cell == "a" else entry.protocol
        numbers = [entry.text(step, 3) for step in steps] + [f"{growth:.3f}", entry.text("newest", 3)]
        rows.append([f"({entry.cell}) {CASES[entry.cell]}", protocol, *numbers])
    headings = ["case", "protocol", *(step.replace("after", "after task") for step in steps)]
    headings += ["growth", "newest task alone"]
    note = f"{results.scenario}, {SAMPLES:,} samples per task, {results.seeds}."
    return f"{note}\n\n{markdown(headings, rows, words=2)}"


def figure(results: Measurements) -> Chart:
    """Draw the cases with one representation per task, as in the paper: the task is known."""
    steps = _steps(results)
    lines = []
    for entry in results.summary:
        if entry.cell == "a" or entry.protocol == "aware":
            values = [entry.numbers[step] for step in steps]
            name = f"({entry.cell}) {CASES[entry.cell]}"
            lines.append(Line(name, [value.mean for value in values], [value.std for value in values]))
    title = f"Fit of random labels, summed over the tasks so far ({results.scenario}; (b) to (e): aware)"
    return line_chart(title, "tasks learned", "Rademacher complexity", range(1, len(steps) + 1), lines)


def _steps(results: Measurements) -> list[str]:
    return [key for key in results.summary[0].numbers if key.startswith("after")]


ABLATION = Ablation(
    "figure-rademacher", "Rademacher complexity over the tasks, cases (a) to (e)", tuple(CASES), run, table, figure
)
