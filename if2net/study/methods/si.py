"""SI: synaptic intelligence (Zenke et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.study.methods.importance import Importance, ImportanceSettings


@dataclass(frozen=True)
class SISettings(ImportanceSettings):
    strength: float = 600.0  # c; it and ξ are as Hsu et al. (2018) have them for this stream
    damping: float = 0.1  # ξ

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.damping <= 0:
            raise ConfigurationError(f"The damping keeps a division finite and must be positive, not {self.damping}.")


class SI(Importance):
    """Loss + c·ΣΩ(θ − θ*)², where Ω is each parameter's own share in the fall of the loss, over how far it went.

    ω = −Σg·Δθ along a task's path, with g the gradient of the loss without the penalty and Δθ what θ really moved, by
    momentum and penalty too; after the task Ω ← Ω + max(ω, 0)/((θ − θ*)² + ξ).
    """

    name = "si"
    summary = "a penalty by each parameter's share in the fall of the loss; keeps no data"
    Settings = SISettings
    path: list[Tensor]  # ω
    before: list[Tensor]  # θ before the current step

    @property
    def stiffness(self) -> float:
        return 2 * self.settings.strength

    def begin(self, X: Tensor, y: Tensor) -> None:
        super().begin(X, y)
        self.before = self.position()
        self.path = [torch.zeros_like(value) for value in self.before]

    @torch.no_grad()
    def after_step(self) -> None:
        super().after_step()
        parameters: list[Tensor] = list(self.network.parameters())
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        torch._foreach_addcmul_(self.path, gradients, torch._foreach_sub(self.before, parameters))
        torch._foreach_copy_(self.before, parameters)

    def measured(self, X: Tensor) -> list[Tensor]:
        moved = torch._foreach_sub(self.position(), self.anchor)
        return [
            path.clamp_min(0) / (distance.square() + self.settings.damping)
            for path, distance in zip(self.path, moved, strict=True)
        ]
