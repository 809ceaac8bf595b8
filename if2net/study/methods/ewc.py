"""EWC: elastic weight consolidation (Kirkpatrick et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.study.methods.common.importance import ImportancePenalty, ImportanceSettings, gradient_moments


@dataclass(frozen=True)
class EWCSettings(ImportanceSettings):
    strength: float = 600.0  # λ of Hsu et al. (2018) for this stream, whose penalty has no ½
    fisher_samples: int = 1000  # drawn at random from each task


class EWC(ImportancePenalty):
    """Loss: CE + (λ/2)·Σ_k ΣF_k(θ − θ*_k)², one term per earlier task k, with its Fisher diagonal F_k.

    The original keeps F_k and θ*_k of each task. Here only two tensors are kept: a sum of parabolas is one parabola,
    whose importance is ΣF_k and whose anchor is the mean of the θ*_k weighted by F_k. The penalty is the same up to
    a constant. `ImportancePenalty` takes its step.
    """

    name = "ewc"
    summary = "one Fisher-weighted penalty per earlier task; keeps no data"
    Settings = EWCSettings

    @property
    def stiffness(self) -> float:
        return self.settings.strength

    def measure_importance(self, X: Tensor) -> list[Tensor]:
        """F = E_x Σ_c p_c (∂log p_c/∂θ)², summed over all classes, so that no labels are needed."""
        drawn = torch.randperm(len(X), generator=self.generator(salt=4))[: self.settings.fisher_samples]
        return gradient_moments(self.network, X[drawn.to(X.device)], self._weighted_log_probabilities, power=2)

    def consolidate(self, measured: list[Tensor]) -> None:
        """Ω ← Ω + F_t, and θ* ← the mean of θ* and θ weighted by Ω and F_t."""
        anchor, smallest = self.anchor, torch.finfo(measured[0].dtype).tiny
        super().consolidate(measured)
        shares = [new / total.clamp_min(smallest) for new, total in zip(measured, self.importance, strict=True)]
        self.anchor = list(torch._foreach_lerp(anchor, self.anchor, shares))

    def _weighted_log_probabilities(self, logits: Tensor) -> Tensor:
        """√p_c·log p_c with a constant √p_c: the square of its gradient is p_c (∂log p_c/∂θ)²."""
        log_p = self.in_scope(logits).log_softmax(dim=1)
        return (log_p.detach() / 2).exp() * log_p
