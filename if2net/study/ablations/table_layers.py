"""table-layers: four, three, two and one orthogonalised layers, the others frozen."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from if2net.study.ablations.ablation import BESIDE, Ablation, Bench, Entry, Measurements
from if2net.study.ablations.cases import CASES, Sizes, new_case
from if2net.study.ablations.readings import READINGS, REPRESENTATIONS, follow, measured
from if2net.study.bench.display import markdown
from if2net.study.bench.paper import paper_figures
from if2net.study.data import Task
from if2net.study.methods import Method

SIZES = Sizes()
FEW = 100  # samples of each task before the last, for the measurement of memory


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """Measure the metrics and the memory of one case."""
    tasks = bench.stream(seed)

    def make(representation: str) -> Method:
        return new_case(cell, representation, bench.inputs, seed, bench.device, SIZES)

    # Without a frozen layer, nothing depends on the protocol.
    entries = measured(make, tasks) if cell != "a" else follow(lambda: make("first"), tasks, [("agnostic", "")])
    memory = {representation: memory_of(make(representation), tasks) for representation in READINGS}
    return [
        replace(entry, numbers=entry.numbers | memory[REPRESENTATIONS[entry.protocol.split(", ")[0]]])
        for entry in entries
    ]


def memory_of(method: Method, tasks: Sequence[Task]) -> dict[str, float]:
    """Megabytes: the peak while learning the last task, and the state after it.

    A few samples of the earlier tasks are enough, since their number does not change the size of anything.
    """
    for task in tasks[:-1]:
        method.learn(task.train_X[:FEW], task.train_y[:FEW])
    with PeakMemory() as memory:
        method.learn(tasks[-1].train_X, tasks[-1].train_y)
    return {"memory": memory.peak / 1e6, "kept": method.costs().state_bytes / 1e6}


class PeakMemory(TorchDispatchMode):
    """Count the storage of every input and output of an operation until it is freed.

    Its peak is the number of CUDA's allocator, also for a CPU.

    >>> import torch
    >>> with PeakMemory() as memory:
    ...     a = torch.ones(1000)          # 4,000 bytes
    ...     b = a + 1                     # 4,000 more
    ...     del a, b
    ...     c = torch.ones(500)
    >>> memory.peak
    8000
    """

    def __init__(self) -> None:
        super().__init__()
        self.alive: dict[int, int] = {}
        self.peak = 0

    def __torch_dispatch__(self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        outputs = function(*args, **(kwargs or {}))
        for leaf in tree_leaves((args, kwargs, outputs)):
            if isinstance(leaf, Tensor):
                self._count(leaf.untyped_storage())
        return outputs

    def _count(self, storage: UntypedStorage) -> None:
        place = storage._cdata
        if place not in self.alive:
            self.alive[place] = storage.nbytes()
            self.peak = max(self.peak, sum(self.alive.values()))
            weakref.finalize(storage, self.alive.pop, place)


def table(results: Measurements) -> str:
    """Ours beside the paper's, by case and protocol."""
    rows = []
    for entry in results.summary:
        paper = paper_figures("table-layers")[entry.cell]
        memory = [entry.text("memory", 0), f"{paper['memory']:,}", f"{entry.numbers['kept'].mean:.1f}"]
        protocol = "any" if entry.cell == "a" else entry.protocol
        rows.append([f"({entry.cell}) {CASES[entry.cell]}", protocol, *entry.beside(paper), *memory])
    headings = ["case", "protocol", *BESIDE, "peak MB", "paper", "kept MB"]
    return f"{results.scenario}, {results.seeds}.\n\n{markdown(headings, rows, words=2)}"


ABLATION = Ablation(
    "table-layers", "cases (a) to (e): four to one orthogonalised layers, with peak memory", tuple(CASES), run, table
)
