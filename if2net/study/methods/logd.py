"""LOGD: layerwise optimisation by gradient decomposition (Tang et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.errors import diverged
from if2net.study.methods.memory_gradients import MemoryGradients

DIRECTIONS = 3  # how many task-specific directions are kept out; LOGD's own
NEGLIGIBLE = 1e-5  # of the old gradients' length: below it, what differs between them is rounding


class LOGD(MemoryGradients):
    """Follows what the old tasks' gradients share and stays orthogonal to what is specific to each; layer by layer.

    With s = Σg_k the shared part, U the principal directions of the centred g_k and P = I − UUᵀ, a layer's g becomes
    Pg where ⟨s, Pg⟩ > 0, and else Pg + max(−c, γ)s + cUUᵀs with c = ⟨s, Pg⟩/⟨s, Ps⟩. A single old task has nothing
    specific to it, and s then always enters. Directions without variance are dropped; the authors' code keeps
    arbitrary ones in their place. A layer is its weights and biases, and the memory is as GEM's here.
    """

    name = "logd"
    summary = "layer by layer, off what is specific to old tasks and along what they share"

    def combination(self, products: Tensor) -> Tensor:
        if not products.isfinite().all():  # eigenvectors of such products are an error of another kind
            raise diverged(self.name)
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
    """B with UUᵀ = GᵀBG: by the eigenvectors of the centred products, B = Σ eᵢeᵢᵀ/λᵢ over the largest λᵢ."""
    centred = GG - GG.mean(dim=-1, keepdim=True)
    centred = centred - centred.mean(dim=-2, keepdim=True)
    values, vectors = torch.linalg.eigh((centred + centred.mT) / 2)
    values, vectors = values[:, -DIRECTIONS:], vectors[:, :, -DIRECTIONS:]
    length = GG.diagonal(dim1=-2, dim2=-1).mean(dim=-1, keepdim=True)
    inverses = torch.where(values > NEGLIGIBLE * length, 1 / values, 0.0)
    return (vectors * inverses.unsqueeze(-2)) @ vectors.mT
