"""The workers of a cluster, and the book of what each of them has counted: every block once, whoever dies."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from if2net.cluster.connection import imported_ray
from if2net.cluster.reading import Reader
from if2net.cluster.worker import Part, Worker, fingerprint
from if2net.errors import IF2NetError
from if2net.files import cache_folder

# How many blocks a worker has in hand: one that it counts, and one on its way.
IN_HAND = 2

Blocks = Callable[[], Iterator[Any]]  # starts reading the data, which gives references to its blocks


class Crew:
    """Counts blocks on many machines and adds up the statistics.

    A worker's statistics live in its memory alone, and its blocks are let go as soon as they are counted: data may
    be larger than all memory. When a worker dies, the fingerprints in its book say which blocks were lost with it.
    The data is read again, and those alone are counted again; so whatever happens, the books and what is lost add up
    to what has been read.
    """

    def __init__(
        self,
        empty: Part,
        reader: Reader,
        *,
        workers: int,
        device: str,
        threads: int,
        deaths: int,
        report: Callable[[int], None],
    ) -> None:
        self.ray = imported_ray()
        self.columns, self.workers, self.deaths_left, self.report = reader.columns, workers, deaths, report
        self.refused: dict[Path, str] = {}
        self.books: dict[Any, Counter[str]] = {}
        self.lost: Counter[str] = Counter()
        # No CPU is asked for, so that reading can never be starved; a retried call would count twice.
        self._new = self.ray.remote(Worker).options(
            num_cpus=0,
            num_gpus=0 if device == "cpu" else 1,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": _environment()},
            max_restarts=0,
            max_task_retries=0,
        )
        self._arguments = (self.ray.put(empty), reader, device, threads)
        self._fingerprint = self.ray.remote(fingerprint)
        self._hire()

    def total(self, blocks: Blocks) -> Part:
        """The statistics of all blocks; the data is read again only when a worker has died."""
        while True:
            try:
                self.count(blocks())
                while (total := self.reduce()) is None:
                    while self.lost and self.recount(blocks()):
                        pass
                    if self.lost:  # the data does not come in the same blocks twice
                        self._start_over()
                        self.count(blocks())
                return total
            except self.ray.exceptions.ObjectLostError as error:  # a machine went, and blocks in hand with it
                self._mourn(error)
                self._start_over()

    def count(self, blocks: Iterator[Any]) -> None:
        """Have each of these blocks counted by some worker; blocks in the hands of one who dies go to another."""
        hands: dict[Any, tuple[Any, Any]] = {}
        again: deque[Any] = deque()
        while True:
            while (worker := self._least_busy(hands)) is not None:
                block = again.popleft() if again else next(blocks, None)
                if block is None:
                    break
                hands[worker.count.remote(block)] = (worker, block)
            if not hands:
                return
            done = self.ray.wait(list(hands), num_returns=1)[0][0]
            worker, block = hands.pop(done)
            if not self._entered(worker, done):
                again.append(block)

    def recount(self, blocks: Iterator[Any]) -> bool:
        """Count those of these blocks again that were lost; False where none of them was."""
        found = 0

        def wanted() -> Iterator[Any]:
            nonlocal found
            for some in iter(lambda: list(islice(blocks, 2 * self.workers)), []):
                marks = self.ray.get([self._fingerprint.remote(block, self.columns) for block in some])
                for block, mark in zip(some, marks, strict=True):
                    if self.lost[mark] > 0:
                        self.lost[mark] -= 1
                        found += 1
                        yield block

        self.count(wanted())
        self.lost = +self.lost  # without the zeros
        return found > 0

    def reduce(self) -> Part | None:
        """Add up in pairs until one worker has everything; None where something was lost."""
        whole = not self.lost
        while whole and len(self.books) > 1:
            workers = list(self.books)
            giving = {giver: giver.part.options(num_returns=2).remote() for giver in workers[1::2]}
            taking = []
            for taker, giver in zip(workers[::2], workers[1::2], strict=False):
                part, ready = giving[giver]
                if self._value(giver, ready) is not None:
                    taking.append((taker, giver, taker.merge.remote(part)))
                else:
                    whole = False
            for taker, giver, merged in taking:
                if self._value(taker, merged) is not None:
                    self.books[taker] += self.books.pop(giver)
                    self.ray.kill(giver)
                else:
                    whole = False
        if not whole:
            return None
        (last,) = self.books
        part, _ = last.part.options(num_returns=2).remote()
        return self._value(last, part)

    def close(self) -> None:
        for worker in self.books:
            self.ray.kill(worker)
        self.books.clear()

    # ------------------------------------------------------------------ inside

    def _hire(self) -> None:
        while len(self.books) < self.workers:
            self.books[self._new.remote(*self._arguments)] = Counter()

    def _least_busy(self, hands: dict[Any, tuple[Any, Any]]) -> Any | None:
        busy = Counter(worker for worker, _ in hands.values())
        worker = min(self.books, key=lambda worker: busy[worker])
        return worker if busy[worker] < IN_HAND else None

    def _entered(self, worker: Any, done: Any) -> bool:
        """Whether the block was counted and stands in the book of a living worker."""
        counted = self._value(worker, done)
        if counted is None or worker not in self.books:
            return False
        self.books[worker][counted.mark] += 1
        self.refused |= counted.refused
        self.report(counted.rows)
        return True

    def _value(self, worker: Any, done: Any) -> Any | None:
        """What the worker has done; None if it died first. One that does not answer is made dead."""
        try:
            return self.ray.get(done)
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.OutOfMemoryError) as error:
            if worker in self.books:
                self.lost += self.books.pop(worker)
                self.ray.kill(worker)
                self._mourn(error)
                self._hire()
            return None

    def _mourn(self, error: Exception) -> None:
        self.deaths_left -= 1
        if self.deaths_left < 0:
            raise IF2NetError(
                "Too many workers have died, most likely for want of memory; give smaller blocks, fewer workers or a "
                f"smaller width, or allow more deaths. The last one said: {error}"
            ) from error

    def _start_over(self) -> None:
        self.close()
        self.lost.clear()
        self._hire()


def _environment() -> dict[str, str]:
    """Beside those who read, waiting must not spin. Features are kept where they are here, if that was chosen."""
    chosen = {"IF2NET_CACHE": str(cache_folder().absolute())} if os.environ.get("IF2NET_CACHE") else {}
    return {"OMP_WAIT_POLICY": "PASSIVE", **chosen}
