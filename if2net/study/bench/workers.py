"""Streams side by side, in processes that share the cores or the GPU."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from if2net.study.bench.rows import load_rows
from if2net.study.bench.stream import Plan, Show
from if2net.study.data import Dataset, Scenario
from if2net.study.pretraining.held_out import is_held_out


@dataclass(frozen=True)
class Job:
    """One stream of a plan, and the folder of the plan."""

    plan: Plan
    out: Path | None
    method: str
    seed: int


# What is done with a job: given its plan, data, method, seed, folder, and whom to show steps.
Work = Callable[[Plan, Dataset, str, int, Path | None, Show | None], Any]


class Workers:
    """So many processes. Each sends its steps back over a queue, so that progress is shown in one place."""

    def __init__(self, count: int, data: Path | None, show: Show | None) -> None:
        context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
        self.steps = context.SimpleQueue()
        threads = max(1, (os.cpu_count() or 1) // count)
        self.pool = ProcessPoolExecutor(count, context, _start, (self.steps, data, threads))
        self.listener = threading.Thread(target=self._listen, args=(show,), daemon=True)

    def __enter__(self) -> Workers:
        self.listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:  # what the others are at is in their checkpoints
            for process in multiprocessing.active_children():
                process.terminate()
        self.pool.shutdown(cancel_futures=True)
        self.steps.put(None)
        self.listener.join()

    def results(self, work: Work, jobs: list[Job]) -> Iterator[tuple[int, Any]]:
        """The place of a job in the list and what came of it, as they are finished."""
        futures = {self.pool.submit(_do, work, job): place for place, job in enumerate(jobs)}
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _listen(self, show: Show | None) -> None:
        while (step := self.steps.get()) is not None:
            if show is not None:
                show(step)


def results_of(
    work: Work, jobs: list[Job], data: Path | None, processes: int = 1, show: Show | None = None
) -> Iterator[tuple[int, Any]]:
    """The place of each job and what came of it: in this process, or in several at a time."""
    if processes == 1 or len(jobs) < 2:
        for place, job in enumerate(jobs):
            yield place, work(job.plan, dataset(job, data), job.method, job.seed, job.out, show)
        return
    with Workers(min(processes, len(jobs)), data, show) as workers:
        yield from workers.results(work, jobs)


def dataset(job: Job, folder: Path | None) -> Dataset:
    """What the job learns from; streams that differ in the number of tasks alone share it."""
    scenario = replace(job.plan.scenario, tasks=1)
    return _rows(scenario, folder, job.seed if is_held_out(scenario) else 0)


@lru_cache(maxsize=2)
def _rows(scenario: Scenario, folder: Path | None, seed: int) -> Dataset:
    return load_rows(scenario, folder, seed)[0]  # what was refused has been said before the first run


# What this process was started with, where it is a worker: where to send steps, and where the data is.
_worker: tuple[Any, Path | None] = (None, None)


def _start(steps: Any, data: Path | None, threads: int) -> None:
    import torch
    from threadpoolctl import threadpool_limits

    global _worker
    _worker = (steps, data)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    threadpool_limits(threads)  # the BLAS of SciPy has threads of its own


def _leave_with_parent() -> None:
    """A killed parent cannot stop its workers, and they would go on for hours."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(work: Work, job: Job) -> Any:
    steps, data = _worker
    return work(job.plan, dataset(job, data), job.method, job.seed, job.out, steps.put)
