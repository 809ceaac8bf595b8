"""EWC: elastic weight consolidation (Kirkpatrick et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.study.methods.importance import Importance, ImportanceSettings, gradient_moments


@dataclass(frozen=True)
class EWCSettings(ImportanceSettings):
    strength: float = 600.0  # λ of Hsu et al. (2018) for this stream, whose penalty has no ½
    fisher_samples: int = 1000  # of a task, drawn at random


class EWC(Importance):
    """Loss + (λ/2)·Σ_k ΣF_k(θ − θ*_k)², one term for each earlier task k, F_k its Fisher information's diagonal.

    A sum of parabolas is one parabola, with ΣF_k for its importance and the mean of the θ*_k weighted by F_k for its
    anchor. Only these two are kept, where the original keeps a pair for each task; the penalty is the same.
    """

    name = "ewc"
    summary = "a Fisher-weighted penalty for each earlier task; keeps no data"
    Settings = EWCSettings

    @property
    def stiffness(self) -> float:
        return self.settings.strength

    def measured(self, X: Tensor) -> list[Tensor]:
        """F = E_x Σ_c p_c (∂log p_c/∂θ)²: exact over the classes, no labels are drawn or used."""
        drawn = torch.randperm(len(X), generator=self.generator(salt=4))[: self.settings.fisher_samples]
        return gradient_moments(self.network, X[drawn.to(X.device)], self._rooted, power=2)

    def consolidate(self, found: list[Tensor]) -> None:
        anchor, smallest = self.anchor, torch.finfo(found[0].dtype).tiny
        super().consolidate(found)
        shares = [new / total.clamp_min(smallest) for new, total in zip(found, self.importance, strict=True)]
        self.anchor = list(torch._foreach_lerp(anchor, self.anchor, shares))

    def _rooted(self, logits: Tensor) -> Tensor:
        """√p_c·log p_c with p_c taken as a constant: the square of its gradient is p_c (∂log p_c/∂θ)²."""
        log_p = self.in_scope(logits).log_softmax(dim=1)
        return (log_p.detach() / 2).exp() * log_p
