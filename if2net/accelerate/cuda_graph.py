"""A training step recorded once as a CUDA graph and replayed: launching small kernels takes longer than they do."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[[Tensor, Tensor], None]  # on samples and their labels
WARM_UP = 3  # steps before the recording, in which optimiser and libraries make their buffers


def taking(
    step: Step, X: Tensor, y: Tensor, *, replayed: bool, size: int, random: torch.Generator | None
) -> Callable[[Tensor], None]:
    """The step for the samples at given places; it may be replayed on a GPU alone."""

    def take(batch: Tensor) -> None:
        step(X[batch], y[batch])

    return Replayed(take, min(size, len(X)), random) if replayed and X.is_cuda else take


class Replayed:
    """A step on the samples at given places; `size` of them are a full batch.

    Only what happens on the GPU is recorded. So a step that is replayed may draw from `random` alone, must not look
    at a value, and must not depend on anything in Python that changes from step to step. Smaller batches, the last
    ones of an epoch, run as they are.
    """

    def __init__(self, step: Callable[[Tensor], None], size: int, random: torch.Generator | None) -> None:
        self.step, self.size, self.random = step, size, random
        self.stream = torch.cuda.Stream()
        self.graph: torch.cuda.CUDAGraph | None = None
        self.taken = 0

    def __call__(self, batch: Tensor) -> None:
        if len(batch) != self.size:
            self.step(batch)
        elif self.taken < WARM_UP:
            self._warm_up(batch)
            self.taken += 1
        else:
            self.graph = self.graph or self._recorded(batch)
            self.batch.copy_(batch)
            self.graph.replay()

    def _warm_up(self, batch: Tensor) -> None:
        """On the stream that is recorded from: gradients are to be added up there."""
        here = torch.cuda.current_stream()
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream):
            self.step(batch)
        here.wait_stream(self.stream)

    def _recorded(self, batch: Tensor) -> torch.cuda.CUDAGraph:
        """Nothing is run by this; the replay that follows takes the step."""
        self.batch = batch.clone()
        graph = torch.cuda.CUDAGraph()
        if self.random is not None:
            graph.register_generator_state(self.random)
        with torch.cuda.graph(graph, stream=self.stream):
            self.step(self.batch)
        return graph
