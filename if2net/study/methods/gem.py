"""GEM: gradient episodic memory (Lopez-Paz and Ranzato, 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.study.methods.common.memory_gradients import MemoryGradients

RIDGE = 1e-3  # the authors' value; makes the dual well posed if old gradients are nearly parallel
ITERATIONS = 100


class GEM(MemoryGradients):
    """Change the gradient as little as possible so that no step raises the loss on an old task's memory.

    The loss is plain cross-entropy on the current task. If ⟨g, g_k⟩ < 0 for some old task k, its gradient g becomes
    g + Gᵀv, where the rows of G are the gradients g_k and v solves `dual`. With the lower bound γ > 0 on v, the
    memory acts as replay. Exemplars are kept between tasks. Departures: the loss is over all classes seen so far,
    where the original masks those of other tasks; the memory is divided evenly among classes and a sample of it is
    drawn at each step, where the original keeps the last samples of each task and uses all of them.
    """

    name = "gem"
    summary = "no step may raise the loss on the memory of an old task"
    graph_safe = True

    def combine(self, products: Tensor) -> Tensor:
        whole = products.sum(dim=0)  # GEM treats all layers as one vector
        GG, Gg = whole[1:, 1:], whole[1:, 0]
        v = torch.where((Gg < 0).any(), dual(GG, Gg, self.settings.strength), 0.0)
        return torch.cat([torch.ones_like(v[:1]), v]).expand(len(products), -1)


def dual(GG: Tensor, Gg: Tensor, least: float) -> Tensor:
    """argmin ½vᵀGGᵀv + (Gg)ᵀv over v ≥ γ, by accelerated projected gradient steps that never wait for the device.

    The problem is solved for u = ‖g_k‖v, that is for gradients of length 1, so that neither the step size nor the
    ridge depends on the size of the gradients.
    """
    lengths = GG.diagonal().sqrt().clamp_min(1e-12)
    A = GG / torch.outer(lengths, lengths) + RIDGE * torch.eye(len(GG), dtype=GG.dtype, device=GG.device)
    rate = 1 / A.abs().sum(dim=0).max()  # at most 1/λ_max
    shrink = torch.eye(len(A), dtype=A.dtype, device=A.device) - rate * A
    drift = -rate * Gg / lengths
    floor = least * lengths
    u = before = floor
    for step in range(ITERATIONS):
        ahead = torch.lerp(before, u, 1 + step / (step + 3))
        u, before = torch.maximum(floor, torch.addmv(drift, shrink, ahead)), u
    return u / lengths
