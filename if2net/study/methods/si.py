"""SI: synaptic intelligence (Zenke et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.study.methods.common.importance import ImportancePenalty, ImportanceSettings


@dataclass(frozen=True)
class SISettings(ImportanceSettings):
    strength: float = 600.0  # c; it and ξ are the values of Hsu et al. (2018) for this stream
    damping: float = 0.1  # ξ

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.damping <= 0:
            raise ConfigurationError(f"The damping must be positive, but it is {self.damping}.")


class SI(ImportancePenalty):
    """Loss: CE + c·ΣΩ(θ − θ*)², where Ω relates a parameter's share in the fall of the loss to its distance moved.

    The share is ω = −Σg·Δθ along the path of a task: g is the gradient of the loss without the penalty, and Δθ is
    the whole move of θ, including momentum and penalty. After the task Ω ← Ω + max(ω, 0)/((θ − θ*)² + ξ). Ω and the
    latest θ* are kept between tasks. `ImportancePenalty` takes the step on the penalty.
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
        self.before = self.copy_parameters()
        self.path = [torch.zeros_like(value) for value in self.before]

    @torch.no_grad()
    def after_step(self) -> None:
        """Take the step on the penalty, then ω ← ω − g·Δθ."""
        super().after_step()
        parameters: list[Tensor] = list(self.network.parameters())
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        torch._foreach_addcmul_(self.path, gradients, torch._foreach_sub(self.before, parameters))
        torch._foreach_copy_(self.before, parameters)

    def measure_importance(self, X: Tensor) -> list[Tensor]:
        """max(ω, 0)/((θ − θ*)² + ξ)."""
        distances = torch._foreach_sub(self.copy_parameters(), self.anchor)
        return [
            path.clamp_min(0) / (distance.square() + self.settings.damping)
            for path, distance in zip(self.path, distances, strict=True)
        ]
