"""Training steps recorded as CUDA graphs. Launching the kernels of a small step takes longer than running them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from if2net.accelerate import available

WARM_UP = 3  # steps before the recording, in which the optimiser and the libraries allocate their buffers


def batch_step(
    step: Callable[[Tensor, Tensor], None],
    X: Tensor,
    y: Tensor,
    *,
    graph_safe: bool,
    size: int,
    random: torch.Generator | None,
) -> Callable[[Tensor], None]:
    """Turn a step on samples and labels into a step on a batch of indices into X and y.

    The step is recorded if it is `graph_safe` and acceleration is available; see `RecordedStep`.
    """

    def plain(batch: Tensor) -> None:
        step(X[batch], y[batch])

    return RecordedStep(plain, min(size, len(X)), random) if graph_safe and available(X.device) else plain


class RecordedStep:
    """A step that is recorded once, on a full batch of `size` indices, and then replayed.

    A graph holds GPU work only. A step can therefore be recorded if it draws random numbers from `random` alone,
    reads no value back to the host, and depends on no Python state that changes between steps. Smaller batches, such
    as the last one of an epoch, run without the graph.
    """

    def __init__(self, step: Callable[[Tensor], None], size: int, random: torch.Generator | None) -> None:
        self.step, self.size, self.random = step, size, random
        self.stream = torch.cuda.Stream()
        self.graph: torch.cuda.CUDAGraph | None = None
        self.warm_up_steps = 0

    def __call__(self, batch: Tensor) -> None:
        if len(batch) != self.size:
            self.step(batch)
        elif self.warm_up_steps < WARM_UP:
            self._warm_up(batch)
            self.warm_up_steps += 1
        else:
            self.graph = self.graph or self._record(batch)
            self.batch.copy_(batch)
            self.graph.replay()

    def _warm_up(self, batch: Tensor) -> None:
        """Take the step on the recording stream, where gradients must be accumulated from then on."""
        current = torch.cuda.current_stream()
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            self.step(batch)
        current.wait_stream(self.stream)

    def _record(self, batch: Tensor) -> torch.cuda.CUDAGraph:
        """Record the step without running it."""
        self.batch = batch.clone()
        graph = torch.cuda.CUDAGraph()
        if self.random is not None:
            graph.register_generator_state(self.random)
        with torch.cuda.graph(graph, stream=self.stream):
            self.step(self.batch)
        return graph
