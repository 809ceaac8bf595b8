"""What GEM and LOGD share: the gradient on a batch is combined with those on the memory of every old task."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.study.methods.layers import gradient, joined, layers, recorded, set_gradient
from if2net.study.methods.replay import Replay, ReplaySettings


@dataclass(frozen=True)
class MemoryGradientsSettings(ReplaySettings):
    samples: int = 256  # drawn from the memory of each old task at every step
    strength: float = 0.5  # γ: the least weight of an old task's gradient once it enters


class MemoryGradients(Replay):
    """Trains on the task alone; the memory only says which way each old task would go.

    The new gradient is a combination of g, the one on the batch, and g_k, one an old task. A method chooses it
    from their inner products, which are a few numbers, so that the long vectors are read twice and never copied.
    """

    Settings = MemoryGradientsSettings
    spans: list[tuple[int, int]]  # where the memory of each old task begins and ends

    @abstractmethod
    def combination(self, products: Tensor) -> Tensor:
        """The weights of g, g_1, g_2, … in each layer, from their inner products there (one matrix a layer)."""

    def begin(self, X: Tensor, y: Tensor) -> None:
        _, sizes = self.state["memory.task"].unique_consecutive(return_counts=True)  # the memory is sorted by task
        self.spans = list(itertools.pairwise([0, *sizes.cumsum(0).tolist()]))
        self.random = self.device_generator(salt=4)

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return X, y

    @torch.no_grad()
    def before_step(self, X: Tensor, y: Tensor) -> None:
        if not self.spans:
            return
        new = [gradient(layer) for layer in layers(self.network)]
        rows = [torch.cat([g[None], old]).flatten(1) for g, old in zip(new, self.memory_gradients(), strict=True)]
        products = torch.stack([vectors @ vectors.T for vectors in rows])
        weights = self.combination(products.double()).float()
        for layer, g, vectors, weight in zip(layers(self.network), new, rows, weights, strict=True):
            set_gradient(layer, (weight @ vectors).view_as(g))

    def memory_gradients(self) -> list[Tensor]:
        """∂CE/∂[W|b] of each layer over all classes seen so far, one matrix an old task; all tasks in one pass."""
        drawn = torch.stack([self._draw(*span) for span in self.spans])
        X, y = (values[drawn] for values in self.memory)
        with torch.enable_grad():
            given, gave = recorded(self.network, X.flatten(0, 1))
            loss = F.cross_entropy(gave[-1], y.flatten(), reduction="sum") / self.settings.samples
        deltas = torch.autograd.grad(loss, gave)
        return [_by_task(a, delta, len(self.spans)) for a, delta in zip(given, deltas, strict=True)]

    def _draw(self, first: int, end: int) -> Tensor:
        return torch.randint(first, end, (self.settings.samples,), generator=self.random, device=self.device)


def _by_task(a: Tensor, delta: Tensor, tasks: int) -> Tensor:
    """Σ δ⊗[a, 1] over the samples of each task: a layer's gradient on that task, samples being sorted by task."""
    a, delta = a.unflatten(0, (tasks, -1)), delta.unflatten(0, (tasks, -1))
    return joined(torch.bmm(delta.mT, a), delta.sum(dim=1))
