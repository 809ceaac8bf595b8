"""MAS: memory aware synapses (Aljundi et al., 2018)."""

from __future__ import annotations

from torch import Tensor

from if2net.study.methods.common.importance import ImportancePenalty, gradient_moments


class MAS(ImportancePenalty):
    """Loss: CE + λ·ΣΩ(θ − θ*)², where Ω = Σ_t E_x|∂‖z(x)‖²/∂θ| measures how much a parameter moves the logits z.

    The absolute value is taken per sample. Ω is summed over the tasks, as in the original, and grows with the
    logits. Ω and the latest θ* are kept between tasks. The default λ = 1 is that of the original and of Hsu et al.
    (2018). `ImportancePenalty` takes the step on the penalty.
    """

    name = "mas"
    summary = "a penalty on the parameters that move the outputs most; keeps no data"

    @property
    def stiffness(self) -> float:
        return 2 * self.settings.strength

    def measure_importance(self, X: Tensor) -> list[Tensor]:
        return gradient_moments(self.network, X, self._squared_norm, power=1)

    def _squared_norm(self, logits: Tensor) -> Tensor:
        return self.in_scope(logits).square().sum(dim=1, keepdim=True)
