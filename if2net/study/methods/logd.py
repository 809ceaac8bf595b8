"""LOGD: layerwise optimisation by gradient decomposition (Tang et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.study.methods.common.memory_gradients import MemoryGradients

DIRECTIONS = 3  # the number of task-specific directions; the authors' value
NEGLIGIBLE = 1e-5  # relative to the old gradients; smaller differences between them are rounding errors


class LOGD(MemoryGradients):
    """Follow the shared part of the old tasks' gradients, and avoid the part specific to each task, layer by layer.

    The loss is plain cross-entropy on the current task. Let s = Σg_k be the shared part, U the principal directions
    of the centred g_k, and P = I − UUᵀ. The gradient g of a layer becomes Pg if ⟨s, Pg⟩ > 0, and otherwise
    Pg + max(−c, γ)s + cUUᵀs with c = ⟨s, Pg⟩/⟨s, Ps⟩. With a single old task U is empty, and s is always added.
    Exemplars are kept between tasks, as in GEM. Departures: directions without variance are dropped, where the
    authors' code keeps arbitrary ones; a layer is one weight matrix and its bias.
    """

    name = "logd"
    summary = "gradients avoid directions specific to old tasks and follow those that they share"

    def combine(self, products: Tensor) -> Tensor:
        if not products.isfinite().all():  # eigh would raise an error that does not name the cause
            raise self.diverged()
        GG, Gg = products[:, 1:, 1:], products[:, 1:, 0]
        Gs = GG.sum(dim=-1)
        B = specific(GG)
        BGg, BGs = (B @ Gg.unsqueeze(-1)).squeeze(-1), (B @ Gs.unsqueeze(-1)).squeeze(-1)
        sPg = Gg.sum(dim=-1, keepdim=True) - (Gs * BGg).sum(dim=-1, keepdim=True)
        ss = Gs.sum(dim=-1, keepdim=True)
        sPs = ss - (Gs * BGs).sum(dim=-1, keepdim=True)
        enters = torch.ones_like(sPg) if GG.shape[-1] == 1 else (sPg <= 0).to(sPg)
        c = sPg / torch.maximum(sPs, NEGLIGIBLE * ss).clamp_min(1e-30)
        old = enters * ((-c).clamp_min(self.settings.strength) + c * BGs) - BGg
        return torch.cat([torch.ones_like(sPg), old], dim=-1)


def specific(GG: Tensor) -> Tensor:
    """B with UUᵀ = GᵀBG. With the eigenvectors of the centred products, B = Σ eᵢeᵢᵀ/λᵢ over the largest λᵢ."""
    centred = GG - GG.mean(dim=-1, keepdim=True)
    centred = centred - centred.mean(dim=-2, keepdim=True)
    values, vectors = torch.linalg.eigh((centred + centred.mT) / 2)
    values, vectors = values[:, -DIRECTIONS:], vectors[:, :, -DIRECTIONS:]
    length = GG.diagonal(dim1=-2, dim2=-1).mean(dim=-1, keepdim=True)
    inverses = torch.where(values > NEGLIGIBLE * length, 1 / values, 0.0)
    return (vectors * inverses.unsqueeze(-2)) @ vectors.mT
