"""Combine the gradient on a batch with the gradients on the memory of each old task; shared by GEM and LOGD."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.study.methods.common.network import gradient, join, linear_layers, run_layers, set_gradient
from if2net.study.methods.common.replay import Replay, ReplaySettings


@dataclass(frozen=True)
class MemoryGradientsSettings(ReplaySettings):
    samples: int = 256  # drawn from the memory of each old task at every step
    strength: float = 0.5  # γ: the least weight of the gradient of an old task, if it is used at all


class MemoryGradients(Replay):
    """Train on the current task only, and use the memory to correct the gradients.

    The new gradient is a linear combination of g, the gradient on the batch, and g_k, one gradient per old task. A
    method chooses the weights from the inner products of these vectors, which are few numbers.
    """

    Settings = MemoryGradientsSettings
    spans: list[tuple[int, int]]  # where the exemplars of each old task start and end in the memory

    @abstractmethod
    def combine(self, products: Tensor) -> Tensor:
        """The weights of g, g_1, g_2, … per layer, from one matrix of inner products per layer."""

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
        layers = linear_layers(self.network)
        new = [gradient(layer) for layer in layers]
        rows = [torch.cat([g[None], old]).flatten(1) for g, old in zip(new, self.memory_gradients(), strict=True)]
        products = torch.stack([vectors @ vectors.T for vectors in rows])
        weights = self.combine(products.double()).float()
        for layer, g, vectors, weight in zip(layers, new, rows, weights, strict=True):
            set_gradient(layer, (weight @ vectors).view_as(g))

    def memory_gradients(self) -> list[Tensor]:
        """∂CE/∂[W|b] over all classes seen so far: per layer a stack of one matrix per old task, in one pass."""
        drawn = torch.stack([self._draw(*span) for span in self.spans])
        X, y = (values[drawn] for values in self.memory)
        with torch.enable_grad():
            inputs, outputs = run_layers(self.network, X.flatten(0, 1))
            loss = F.cross_entropy(outputs[-1], y.flatten(), reduction="sum") / self.settings.samples
        deltas = torch.autograd.grad(loss, outputs)
        return [_sum_by_task(a, delta, len(self.spans)) for a, delta in zip(inputs, deltas, strict=True)]

    def _draw(self, first: int, end: int) -> Tensor:
        return torch.randint(first, end, (self.settings.samples,), generator=self.random, device=self.device)


def _sum_by_task(a: Tensor, delta: Tensor, tasks: int) -> Tensor:
    """Σ δ⊗[a, 1] over the samples of each task. The samples are sorted by task, and all tasks have equally many."""
    a, delta = a.unflatten(0, (tasks, -1)), delta.unflatten(0, (tasks, -1))
    return join(torch.bmm(delta.mT, a), delta.sum(dim=1))
