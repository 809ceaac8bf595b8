"""figure-tsne: raw samples, and the representation in FC3 after each task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from if2net.learner import IF2Net
from if2net.study.ablations.cells import Ablation, Bench, Entry, Results
from if2net.study.ablations.tables import seeds_of, shown
from if2net.study.bench.display import markdown
from if2net.study.data import Task
from if2net.study.report.palette import colour_class, shape
from if2net.study.report.svg import Drawing, text

LAYERS = "10x10,10x10,50x10"
PER_CLASS = 100
NEIGHBOURS = 10
TASKS = 5
# With a tweak for each task, as the paper has it; and with the one of the first task, which needs no task.
REPRESENTATIONS = {"aware": "per-task", "agnostic": "first"}
PANEL, GAP, HEADING = 150, 12, 18


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """Places in the plane for some training samples of the tasks so far, and who their neighbours are in FC3."""
    protocol, _, count = cell.partition(", tasks 1 to ")
    tasks = bench.stream(seed)[: int(count)]
    chosen = [_few(task) for task in tasks]
    rows = np.concatenate([task.train_X[few] for task, few in zip(tasks, chosen, strict=True)])
    if protocol in REPRESENTATIONS:
        rows = _represented(tasks, chosen, REPRESENTATIONS[protocol], seed, bench)
    labels = np.concatenate([task.train_y[few] for task, few in zip(tasks, chosen, strict=True)])
    numbers = np.repeat([task.index for task in tasks], [len(few) for few in chosen])
    return [
        {
            "same_class": shared(rows, labels),
            "same_task": shared(rows, numbers),
            "labels": labels.tolist(),
            "points": _plane(rows, seed).tolist(),
        }
    ]


def shared(rows: np.ndarray, labels: np.ndarray) -> float:
    """The share of a sample's nearest neighbours that have its label."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(rows).kneighbors(return_distance=False)
    return float(np.mean(labels[near] == labels[:, None]))


def _few(task: Task) -> np.ndarray:
    return np.concatenate([np.flatnonzero(task.train_y == label)[:PER_CLASS] for label in task.classes])


def _represented(
    tasks: Sequence[Task], chosen: Sequence[np.ndarray], representation: str, seed: int, bench: Bench
) -> np.ndarray:
    net = IF2Net(encoder="paper", layers=LAYERS, representation=representation, seed=seed, device=str(bench.device))
    for task in tasks:
        net.learn(task.train_X, task.train_y)
    found = [net.represent(task.train_X[few], task=task.index) for task, few in zip(tasks, chosen, strict=True)]
    return np.concatenate([V.cpu().numpy() for V in found])


def _plane(rows: np.ndarray, seed: int) -> np.ndarray:
    """t-SNE, scaled into the unit square."""
    from sklearn.manifold import TSNE

    points = TSNE(init="pca", random_state=seed).fit_transform(rows)
    low, high = points.min(axis=0), points.max(axis=0)
    return np.round((points - low) / (high - low), 3)


def table(results: Results) -> str:
    rows = [
        [entry["cell"], shown(entry, "same_class", 1, 100), shown(entry, "same_task", 1, 100)]
        for entry in results["summary"]
    ]
    headings = ["representation", "neighbours of the same class %", "of the same task %"]
    note = f"{results['scenario']}, {PER_CLASS} training samples a class, {NEIGHBOURS} nearest neighbours"
    return f"{note} in the space itself, {seeds_of(results)}.\n\n{markdown(headings, rows)}"


def figure(results: Results) -> str:
    """Raw samples, then one column a task: above with a tweak for each, below with the first one's."""
    runs = {run["cell"]: run for run in reversed(results["runs"])}  # the first seed counts
    elements = _panel(runs[CELLS[0]], 0, 0)
    for row, protocol in enumerate(REPRESENTATIONS):
        for count in range(1, TASKS + 1):
            elements += _panel(runs[f"{protocol}, tasks 1 to {count}"], count, row)
    elements += _key(max(runs[CELLS[0]]["labels"]) + 1)
    width = (TASKS + 1) * (PANEL + GAP) + GAP
    title = f"t-SNE of raw samples and of FC3, {results['scenario']}: a tweak for each task above, the first's below"
    return Drawing(title, width, 2 * (PANEL + GAP + HEADING), elements).alone()


def _panel(run: Entry, column: int, row: int) -> list[str]:
    left, top = GAP + column * (PANEL + GAP), row * (PANEL + GAP + HEADING) + HEADING
    paths: dict[int, list[str]] = {}
    for label, (x, y) in zip(run["labels"], run["points"], strict=True):
        paths.setdefault(label, []).append(shape(label, left + x * PANEL, top + y * PANEL, 1.5))
    dots = [
        f'<path class="{colour_class(label)}" d="{"".join(paths[label])}" fill="currentColor" opacity="0.8"/>'
        for label in sorted(paths)
    ]
    frame = f'<rect class="grid" x="{left}" y="{top}" width="{PANEL}" height="{PANEL}" fill="none"/>'
    return [text(left, top - 5, run["cell"]), frame, *dots]


def _key(classes: int) -> list[str]:
    """Under the raw samples: the classes in the order in which they come."""
    top = PANEL + GAP + 2 * HEADING
    parts = [text(GAP, top, "classes, in their order")]
    for label in range(classes):
        x, y = GAP + 8 + 75 * (label % 2), top + 20 + 20 * (label // 2)
        parts.append(f'<path class="{colour_class(label)}" d="{shape(label, x, y, 4)}" fill="currentColor"/>')
        parts.append(text(x + 10, y + 4, f"{label + 1} (task {label // 2 + 1})"))
    return parts


CELLS = (
    f"raw, tasks 1 to {TASKS}",
    *(f"{protocol}, tasks 1 to {count}" for protocol in REPRESENTATIONS for count in range(1, TASKS + 1)),
)
ABLATION = Ablation(
    "figure-tsne",
    "t-SNE of raw samples and of FC3 after each task",
    "fashion-mnist-10/5",
    CELLS,
    run,
    table,
    figure,
    runs=1,
)
