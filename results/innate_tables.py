"""The tables of docs/innate.md and the README on the innate encoders, from results/innate/*.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
SIZES = {"innate": "small", "innate-large": "large"}
# Read-outs that are shown, in this order.
READOUTS = (
    "one view",
    "flips",
    "flips, rows of length 1",
    "flips, last stage x2.0",
    "flips, first stage x.5",
    "flips and 2 shifts by 1, flips averaged",
    "flips and 4 shifts by 1, flips averaged",
    "flips and 4 shifts by 1, all averaged",
    "large, grid (4, 3, 2, 1), own statistics",
    "large, grid (4, 4, 4, 2), own statistics",
    "large, grid (6, 5, 4, 2), own statistics",
    "large, power .5, own statistics",
    "both sizes, flips",
)


def lines(name: str) -> Iterator[dict[str, Any]]:
    for line in (HERE / f"innate/{name}.jsonl").read_text().splitlines():
        yield json.loads(line)


def table(headings: list[str], rows: Iterable[list[str]]) -> list[str]:
    rule = f"|{'|'.join(['---', *['---:'] * (len(headings) - 1)])}|"
    first, *rest = (f"| {' | '.join(cells)} |" for cells in (headings, *rows))
    return [first, rule, *rest]


def benchmark() -> dict[str, Any]:
    return json.loads((HERE.parent / "benchmarks/innate.json").read_text())


def held_back(data: str, encoder: str) -> dict[bool, float]:
    """Accuracy on held-back training pictures, with and without mirror images."""
    return {
        row["flips"]: row["accuracy"]
        for row in lines("h200")
        if row["kind"] == "held back" and (row["data"], row["encoder"]) == (data, encoder)
    }


def product(data: str, encoder: str, tasks: int) -> list[float]:
    """Test accuracy by class order, with or without mirror images as the held-back pictures say."""
    both = held_back(data, encoder)
    wanted = (data, encoder, tasks, max(both, key=lambda flips: both[flips]))
    runs = [row for row in lines("h200") if row["kind"] == "product"]
    found = {(run["data"], run["encoder"], run["tasks"], run["settings"]["flips"]): run["accuracy"] for run in runs}
    if wanted == ("fashion-mnist", "innate", 5, False):  # on a CPU, in one task
        return [100 * benchmark()["fashion-mnist"]["accuracy"]]
    return found[wanted]


def cell(figures: list[float]) -> str:
    """The mean over class orders, and the spread where there is one."""
    if not figures:
        return "–"
    spread = max(figures) - min(figures)
    mean = f"{sum(figures) / len(figures):.2f}"
    return mean if spread == 0 else f"{mean} (spread {spread:.2f})"


def innate() -> list[str]:
    streams = [("mnist", 5), ("fashion-mnist", 5), ("cifar10", 5), *(("cifar100", n) for n in (10, 20, 50, 100))]
    rows = [
        [f"{NAMES[data]}, {n} tasks", *(cell(product(data, encoder, n)) for encoder in SIZES)] for data, n in streams
    ]
    return table(["classes in tasks", *SIZES.values()], rows)


def innate_short() -> list[str]:
    streams = [("mnist", 5), ("fashion-mnist", 5), ("cifar10", 5), ("cifar100", 10), ("cifar100", 100)]
    rows = [[f"{NAMES[data]}, {n} tasks", cell(product(data, "innate-large", n))] for data, n in streams]
    return table(["classes in tasks", "innate-large"], rows)


def innate_flips() -> list[str]:
    rows = []
    for data, name in NAMES.items():
        both = [held_back(data, encoder) for encoder in SIZES]
        rows.append([name, *(f"{found[flips]:.2f}" for found in both for flips in (False, True))])
    headings = ["small, plain", "small, mirrored too", "large, plain", "large, mirrored too"]
    return table(["held-back pictures of", *headings], rows)


def innate_peers() -> list[str]:
    measured = [row for row in lines("h200") if row["kind"] == "peer"]
    peers = {(row["data"], row["size"], row["method"]): row["accuracy"] for row in measured}
    pairs = [(data, size) for size in ("small", "large") for data in ("fashion-mnist", "cifar100")]
    flipped = {
        (row["data"], SIZES[row["encoder"]]): row["accuracy"]
        for row in lines("h200")
        if row["kind"] == "product" and row["tasks"] in (5, 10) and row["settings"]["flips"]
    }
    rows = [["if2net", *(cell(flipped[pair]) for pair in pairs)]]
    for method in ("ncm", "slda", "acil", "ranpac"):
        rows.append([method, *(cell(peers.get((*pair, method), [])) for pair in pairs)])
    return table(["method", *(f"{NAMES[data]}, {size}" for data, size in pairs)], rows)


def innate_readouts() -> list[str]:
    found = {(row["tag"], row["size"], row["data"]): row for row in lines("readouts")}
    data = ("cifar100", "fashion-mnist")
    rows = []
    for tag in READOUTS:
        for size in ("small", "large", "both"):
            if (tag, size, data[0]) in found:
                name = f"{size}: {tag.removeprefix('large, ').removeprefix('both sizes, ')}"
                pair = [found.get((tag, size, each), {}) for each in data]
                rows.append([name, *(cell([row["ridge"]] if row else []) for row in pair)])
                if "lda" in pair[0]:
                    rows.append([f"{name}, linear discriminant", *(cell([row["lda"]]) for row in pair)])
    return table(["read-out", "CIFAR-100", "FashionMNIST"], rows)


def innate_cost() -> list[str]:
    speed, learned = benchmark()["per_second"], benchmark()["fashion-mnist"]
    training = {row["size"]: row for row in lines("training") if "seconds" in row}
    rows = [
        ["training on drawings, steps of 512", *(f"{training[size]['steps']:,}" for size in SIZES.values())],
        ["training on drawings, seconds", *(f"{training[size]['seconds']:.0f}" for size in SIZES.values())],
        *(
            [f"pictures per second, {dtype}", *(f"{speed[f'{size} {dtype}']:,}" for size in SIZES.values())]
            for dtype in ("float32", "bfloat16")
        ),
        ["learning FashionMNIST, processor seconds", f"{learned['processor_seconds']:.0f}", "–"],
    ]
    return table(["", *SIZES.values()], rows)
