"""GEM: gradient episodic memory (Lopez-Paz and Ranzato, 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.study.methods.memory_gradients import MemoryGradients

RIDGE = 1e-3  # keeps the dual well posed where old gradients are nearly parallel; GEM's own
ITERATIONS = 100


class GEM(MemoryGradients):
    """No step may, to first order, raise the loss on an old task's memory; the gradient moves as little as that asks.

    With G the old tasks' gradients as rows, g becomes g + Gᵀv wherever some ⟨g, g_k⟩ < 0. The lower bound γ > 0 on
    v is what brings replay in. The original masks the logits of other tasks; here the loss is over all classes seen
    so far. The memory is shared evenly between classes and a part of it is drawn at each step; the original keeps
    the last samples of each task and reads all of them.
    """

    name = "gem"
    summary = "no step may raise the loss on the memory of an old task"
    replays = True

    def combination(self, products: Tensor) -> Tensor:
        whole = products.sum(dim=0)  # GEM looks at all layers as one vector
        GG, Gg = whole[1:, 1:], whole[1:, 0]
        v = torch.where((Gg < 0).any(), dual(GG, Gg, self.settings.strength), 0.0)
        return torch.cat([torch.ones_like(v[:1]), v]).expand(len(products), -1)


def dual(GG: Tensor, Gg: Tensor, least: float) -> Tensor:
    """argmin ½vᵀGGᵀv + (Gg)ᵀv over v ≥ γ, by accelerated projected gradient; nothing waits for the device.

    It is solved for u = ‖g_k‖v, that is for gradients of length one, so that neither the rate nor the ridge depends
    on how large gradients are.
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
