"""The workers of a cluster. They count blocks into statistics; the pool has each block counted exactly once."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from if2net.cluster.connection import import_ray
from if2net.cluster.readers import Reader
from if2net.config import Config
from if2net.errors import IF2NetError
from if2net.labels import Labels
from if2net.learner import IF2Net
from if2net.output_folders import cache_folder
from if2net.tables.columns import Arrays, Columns

# Blocks that are assigned to a worker at a time: it counts one while the next one is on its way.
BLOCKS_PER_WORKER = 2


@dataclass(frozen=True)
class PackedLearner:
    """A learner as plain arrays, which can be sent between machines with different devices."""

    config: Config
    arrays: Arrays
    labels: Labels

    @classmethod
    def of(cls, net: IF2Net) -> PackedLearner:
        arrays = {name: tensor.cpu().numpy() for name, tensor in net.tensors().items()}
        return cls(net.config, arrays, net.labels)

    def unpack(self, device: str) -> IF2Net:
        """Return the learner on a device. The arrays are copied, because those in Ray's store are read-only."""
        net = IF2Net(replace(self.config, device=device))
        net.restore({name: torch.tensor(array) for name, array in self.arrays.items()}, self.labels, tasks=1)
        return net


class Worker:
    """A process that counts blocks. Its learner has the encoder that all workers share, and starts empty."""

    def __init__(self, empty: PackedLearner, reader: Reader, device: str, threads: int) -> None:
        torch.set_num_threads(threads)
        self.reader, self.device = reader, device
        self.net = empty.unpack(device)

    def count(self, block: Any) -> tuple[str, int, dict[Path, str]]:
        """Learn the samples of a block; return its fingerprint, its rows and the images that were left out."""
        arrays = _columns_of(block, self.reader.columns)
        rows = len(next(iter(arrays.values())))
        left_out: dict[Path, str] = {}
        if rows:
            samples = self.reader(arrays)
            left_out = samples.left_out
            if len(samples.y):
                self.net.learn(samples.X, samples.y)
        return fingerprint_of(arrays), rows, left_out

    def packed(self) -> PackedLearner:
        return PackedLearner.of(self.net)

    def merge(self, other: PackedLearner) -> bool:
        """Add the statistics of another worker."""
        self.net.merge(other.unpack(self.device))
        return True


def fingerprint_of(arrays: Arrays) -> str:
    """Return a digest of the content of a block. It is the same on every machine and at every reading."""
    digest = hashlib.blake2b(digest_size=16)

    def add(value: Any) -> None:
        if not isinstance(value, np.ndarray):
            digest.update(f"{value!r} ".encode())
            return
        digest.update(f"{value.dtype} {value.shape} ".encode())
        if value.dtype != object:
            digest.update(value.tobytes())
        else:
            for item in value:  # images of different sizes are arrays in an array
                add(item)

    for name, values in arrays.items():
        add(name)
        add(values)
    return digest.hexdigest()


def _columns_of(block: Any, columns: Columns) -> Arrays:
    from ray.data.block import BlockAccessor

    arrays = BlockAccessor.for_block(block).to_numpy(columns.names)
    assert isinstance(arrays, dict)
    return arrays


class WorkerPool:
    """Counts blocks on many machines, each block exactly once, and adds up their statistics.

    A worker keeps its statistics in its own memory and releases each block that it has counted, so the data may be
    larger than the memory of all machines. For each worker, the pool records the fingerprints of the blocks that it
    has counted. When a worker fails, its record names the blocks that are lost. The data is then read again, and only
    the lost blocks are counted again.

    Ray's own aggregations repeat lost work too, but they keep statistics per block, each as large as the model.
    """

    def __init__(
        self, empty: IF2Net, reader: Reader, workers: int, device: str, failures: int, report: Callable[[int], None]
    ) -> None:
        self.left_out: dict[Path, str] = {}
        self._ray = import_ray()
        self._workers, self._failures_left, self._report = workers, failures, report
        self._counted: dict[Any, Counter[str]] = {}  # the fingerprints of the counted blocks, by worker
        self._lost: Counter[str] = Counter()
        # Workers reserve no CPU, so that the tasks that read the data can always run. A call that Ray repeats would
        # count a block twice.
        self._new_worker = self._ray.remote(max_restarts=0, max_task_retries=0)(Worker).options(
            num_cpus=0, num_gpus=int(device != "cpu"), scheduling_strategy="SPREAD", runtime_env=_environment()
        )
        threads = max(1, int(self._ray.cluster_resources().get("CPU", 1)) // workers)
        self._arguments = (self._ray.put(PackedLearner.of(empty)), reader, device, threads)
        self._fingerprint = self._ray.remote(lambda block: fingerprint_of(_columns_of(block, reader.columns)))
        self._start_workers()

    def total(self, blocks: Callable[[], Iterator[Any]]) -> PackedLearner:
        """Return a learner of all blocks. `blocks` reads the data, and again after a worker has failed."""
        while True:
            try:
                self._count(blocks())
                while (total := self._merged()) is None:
                    while self._lost and self._count_lost(blocks()):
                        pass
                    if self._lost:  # the data is divided into other blocks each time it is read
                        self._start_over()
                        self._count(blocks())
                return total
            except self._ray.exceptions.ObjectLostError as error:  # a machine failed that held uncounted blocks
                self._note_failure(error)
                self._start_over()

    def close(self) -> None:
        """End all workers."""
        for worker in self._counted:
            self._ray.kill(worker)
        self._counted.clear()

    def _count(self, blocks: Iterator[Any]) -> None:
        """Have each of these blocks counted. If a worker fails, the blocks assigned to it go to other workers."""
        assigned: dict[Any, tuple[Any, Any]] = {}  # the worker and the block, by the reference to the result
        again: deque[Any] = deque()
        while True:
            while (worker := self._free_worker(assigned)) is not None:
                block = again.popleft() if again else next(blocks, None)
                if block is None:
                    break
                assigned[worker.count.remote(block)] = (worker, block)
            if not assigned:
                return
            done = self._ray.wait(list(assigned), num_returns=1)[0][0]
            worker, block = assigned.pop(done)
            counted = self._result(done, worker)
            if counted is None or worker not in self._counted:
                again.append(block)
                continue
            fingerprint, rows, left_out = counted
            self._counted[worker][fingerprint] += 1
            self.left_out |= left_out
            self._report(rows)

    def _free_worker(self, assigned: dict[Any, tuple[Any, Any]]) -> Any | None:
        blocks = Counter(worker for worker, _ in assigned.values())
        worker = min(self._counted, key=lambda worker: blocks[worker])
        return worker if blocks[worker] < BLOCKS_PER_WORKER else None

    def _count_lost(self, blocks: Iterator[Any]) -> bool:
        """Count those of these blocks that are lost, and return whether there were any."""
        matched = False

        def lost_blocks() -> Iterator[Any]:
            nonlocal matched
            for some in iter(lambda: list(islice(blocks, 2 * self._workers)), []):
                fingerprints = self._ray.get([self._fingerprint.remote(block) for block in some])
                for block, fingerprint in zip(some, fingerprints, strict=True):
                    if self._lost[fingerprint] > 0:
                        self._lost[fingerprint] -= 1
                        matched = True
                        yield block

        self._count(lost_blocks())
        self._lost = +self._lost  # removes the zeros
        return matched

    def _merged(self) -> PackedLearner | None:
        """Merge the workers in pairs until one has everything; None if blocks were lost with a worker."""
        while not self._lost and len(self._counted) > 1:
            workers = list(self._counted)
            pairs = list(zip(workers[::2], workers[1::2], strict=False))
            merging = [taker.merge.remote(giver.packed.remote()) for taker, giver in pairs]
            for (taker, giver), merged in zip(pairs, merging, strict=True):
                if self._result(merged, taker, giver):
                    self._counted[taker] += self._counted.pop(giver)
                    self._ray.kill(giver)
        if self._lost:
            return None
        (last,) = self._counted
        return self._result(last.packed.remote(), last)

    def _result(self, reference: Any, *workers: Any) -> Any | None:
        """Return the result of a call that involves these workers; if it fails, replace them and return None."""
        try:
            return self._ray.get(reference)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.OutOfMemoryError) as error:
            failed = [worker for worker in workers if worker in self._counted]
            for worker in failed:
                self._lost += self._counted.pop(worker)
                self._ray.kill(worker)  # it may be alive but out of reach
            if failed:
                self._note_failure(error)
                self._start_workers()
            return None

    def _note_failure(self, error: Exception) -> None:
        self._failures_left -= 1
        if self._failures_left < 0:
            raise IF2NetError(
                "Too many workers have failed, most likely because memory ran out; use smaller blocks, fewer workers "
                f"or a smaller width, or allow more failures. The last error was: {error}"
            ) from error

    def _start_workers(self) -> None:
        while len(self._counted) < self._workers:
            self._counted[self._new_worker.remote(*self._arguments)] = Counter()

    def _start_over(self) -> None:
        self.close()
        self._lost.clear()
        self._start_workers()


def _environment() -> dict[str, dict[str, str]]:
    # Idle threads must not spin, because the tasks that read the data use the same cores. On two busy cores, spinning
    # takes three times as much CPU time.
    variables = {"OMP_WAIT_POLICY": "PASSIVE"}
    if os.environ.get("IF2NET_CACHE"):
        variables["IF2NET_CACHE"] = str(cache_folder().absolute())
    return {"env_vars": variables}
