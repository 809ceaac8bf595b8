"""Waiting requests are computed together. A request that comes alone does not wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batches(Generic[Item, Result]):
    """Calls a function with all waiting items. The coroutines of one event loop share it.

    Parameters
    ----------
    function : callable
        Takes a list of items, and returns a result or an exception for each.
    size : callable
        The size of an item.
    most : int
        The size of the items that are computed together. A larger item is computed alone.
    executor : Executor
        Where the function runs; one call at a time.
    """

    def __init__(
        self,
        function: Callable[[list[Item]], Sequence[Result | Exception]],
        size: Callable[[Item], int],
        most: int,
        executor: Executor,
    ) -> None:
        self.function, self.size, self.most, self.executor = function, size, most, executor
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, item: Item) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while batch := self._taken():
                items = [item for item, _ in batch]
                try:
                    results = await loop.run_in_executor(self.executor, self.function, items)
                except Exception as error:  # an error in the function must not leave requests without an answer
                    results = [error] * len(items)
                for (_, future), result in zip(batch, results, strict=True):
                    if future.done():  # its client has disconnected
                        continue
                    if isinstance(result, Exception):
                        future.set_exception(result)
                    else:
                        future.set_result(result)
        finally:
            self._task = None

    def _taken(self) -> list[tuple[Item, asyncio.Future[Result]]]:
        """Take the items that have waited longest."""
        batch: list[tuple[Item, asyncio.Future[Result]]] = []
        size = 0
        while self._waiting and (not batch or size + self.size(self._waiting[0][0]) <= self.most):
            batch.append(self._waiting.popleft())
            size += self.size(batch[-1][0])
        return batch
