"""Streams in parallel, in processes that share the cores or the GPU."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from threadpoolctl import threadpool_limits

from if2net.study.bench.loading import Loader
from if2net.study.bench.stream import Plan, ShowStep
from if2net.study.data import Dataset
from if2net.study.methods import METHODS, Method
from if2net.study.methods.common.trainer import Trainer

Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Job:
    """One stream of a plan, and the folder of the plan."""

    plan: Plan
    out: Path | None
    method: str
    seed: int


MOST = 4  # processes by default; each holds the data and the state of a method


def side_by_side(methods: Iterable[str], device: str) -> int:
    """Return the number of processes for these streams: one per core for small networks, else one for all cores.

    On a GPU, processes would take turns.
    """
    trained = sum(trains_a_network(method) for method in methods)
    return max(1, min(MOST, os.cpu_count() or 1, trained)) if device == "cpu" else 1


def trains_a_network(method: str) -> bool:
    """Return whether a method takes many small steps, which are slower with two threads than with one."""
    return issubclass(METHODS.get(method, Method), Trainer)


# The arguments are the plan, data, method, seed and folder of a job, and the function that shows steps.
Work = Callable[[Plan, Dataset, str, int, Path | None, ShowStep | None], Outcome]


@contextmanager
def workers(count: int, folder: Path | None, show: ShowStep | None) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes that send their steps over a queue, so that this process shows the progress."""
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    steps = context.SimpleQueue()
    threads = max(1, (os.cpu_count() or 1) // count)
    pool = ProcessPoolExecutor(count, context, _start, (steps, folder, threads))
    listener = threading.Thread(target=_show_steps, args=(steps, show), daemon=True)
    listener.start()
    try:
        yield pool
    except BaseException:  # unfinished streams continue from their checkpoints
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        steps.put(None)
        listener.join()


def _show_steps(steps: Any, show: ShowStep | None) -> None:
    while (step := steps.get()) is not None:
        if show is not None:
            show(step)


def results_of(
    work: Work[Outcome], jobs: list[Job], loader: Loader, processes: int = 1, show: ShowStep | None = None
) -> Iterator[tuple[int, Outcome]]:
    """Yield the place of each job in the list and its outcome, computed in this process or in several."""
    if processes == 1 or len(jobs) < 2:
        for place, job in enumerate(jobs):
            yield place, work(job.plan, _data(loader, job), job.method, job.seed, job.out, show)
        return
    with workers(min(processes, len(jobs)), loader.folder, show) as pool:
        futures = {pool.submit(_do, work, job): place for place, job in enumerate(jobs)}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _data(loader: Loader, job: Job) -> Dataset:
    return loader.load(job.plan.scenario, job.seed, device=job.plan.device)


# In a worker process: the queue for its steps, its data, and its number of threads.
_worker: tuple[Any, Loader, int] | None = None


def _start(steps: Any, folder: Path | None, threads: int) -> None:
    global _worker
    _worker = (steps, Loader(folder), threads)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    threadpool_limits(threads)  # the BLAS of SciPy has threads of its own


def _leave_with_parent() -> None:
    """End this process when its parent ends, since a killed parent cannot stop its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(work: Work[Outcome], job: Job) -> Outcome:
    if _worker is None:
        raise RuntimeError("This function runs in a worker process only.")
    steps, loader, threads = _worker
    torch.set_num_threads(1 if trains_a_network(job.method) else threads)
    return work(job.plan, _data(loader, job), job.method, job.seed, job.out, steps.put)
