"""figure-tsne: raw samples and their representation in FC3 after each task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from if2net.learner import IF2Net
from if2net.study.ablations.ablation import Ablation, Bench, Entry, Measurements, first_of_each_class
from if2net.study.ablations.readings import REPRESENTATIONS
from if2net.study.bench.display import markdown
from if2net.study.data import Task
from if2net.study.report.charts import Chart, panel_chart

LAYERS = "10x10,10x10,50x10"
PER_CLASS = 100
NEIGHBOURS = 10
ITERATIONS = 1000  # of t-SNE
TASKS = 5
PROTOCOLS = ("aware", "agnostic")  # one tweak per task, as in the paper; that of the first task, which needs no task


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """Measure the neighbours of some training samples in FC3, and place the samples in the plane."""
    protocol, _, count = cell.partition(", tasks 1 to ")
    tasks = bench.stream(seed)[: int(count)]
    chosen = [first_of_each_class(task, PER_CLASS) for task in tasks]
    samples = [task.train_X[few] for task, few in zip(tasks, chosen, strict=True)]
    if protocol in PROTOCOLS:
        samples = _represented(tasks, samples, REPRESENTATIONS[protocol], seed, bench)
    rows = np.concatenate(samples)
    labels = np.concatenate([task.train_y[few] for task, few in zip(tasks, chosen, strict=True)])
    numbers = np.repeat([task.index for task in tasks], [len(few) for few in chosen])
    neighbours = {"same_class": shared(rows, labels), "same_task": shared(rows, numbers)}
    return [Entry("", neighbours, {"labels": labels.tolist(), "points": _plane(rows, seed).tolist()})]


def shared(rows: np.ndarray, labels: np.ndarray) -> float:
    """The share of the nearest neighbours of a sample that have its label, the mean over all samples."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(rows).kneighbors(return_distance=False)
    return float(np.mean(labels[near] == labels[:, None]))


def _represented(
    tasks: Sequence[Task], samples: Sequence[np.ndarray], representation: str, seed: int, bench: Bench
) -> list[np.ndarray]:
    net = IF2Net(encoder="paper", layers=LAYERS, representation=representation, seed=seed, device=str(bench.device))
    for task in tasks:
        net.learn(task.train_X, task.train_y)
    return [net.represent(X, task=task.index).cpu().numpy() for task, X in zip(tasks, samples, strict=True)]


def _plane(rows: np.ndarray, seed: int) -> np.ndarray:
    """t-SNE, scaled into the unit square."""
    from sklearn.manifold import TSNE

    points = TSNE(init="pca", random_state=seed, max_iter=ITERATIONS).fit_transform(rows)
    low, high = points.min(axis=0), points.max(axis=0)
    return np.round(((points - low) / (high - low)).astype(float), 3)  # float32 would be written with 17 digits


def table(results: Measurements) -> str:
    """The shares of neighbours, by representation."""
    rows = [
        [entry.cell, entry.text("same_class", 1, 100), entry.text("same_task", 1, 100)] for entry in results.summary
    ]
    headings = ["representation", "neighbours of the same class %", "of the same task %"]
    note = f"{results.scenario}, {PER_CLASS} training samples per class, {NEIGHBOURS} nearest neighbours"
    return f"{note} in the space itself, {results.seeds}.\n\n{markdown(headings, rows)}"


def figure(results: Measurements) -> Chart:
    """Draw raw samples, then one column per task: above with a tweak for each task, below with the first one's."""
    runs = {run.cell: run for run in reversed(results.runs)}  # the first seed is shown
    rows = [[runs[f"{protocol}, tasks 1 to {count}"] for count in range(1, TASKS + 1)] for protocol in PROTOCOLS]
    raw = runs[CELLS[0]]
    panels = [
        [(run.cell, run.lists["points"], run.lists["labels"]) for run in row] for row in ([raw, *rows[0]], rows[1])
    ]
    names = [f"{label + 1} (task {label // 2 + 1})" for label in range(max(raw.lists["labels"]) + 1)]
    title = f"t-SNE of raw samples and of FC3, {results.scenario}: a tweak for each task above, the first's below"
    return panel_chart(title, panels, "classes, in their order", names)


CELLS = (
    f"raw, tasks 1 to {TASKS}",
    *(f"{protocol}, tasks 1 to {count}" for protocol in PROTOCOLS for count in range(1, TASKS + 1)),
)
ABLATION = Ablation(
    "figure-tsne", "t-SNE of raw samples and of FC3 after each task", CELLS, run, table, figure, runs=1
)
