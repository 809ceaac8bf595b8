"""MAS: memory aware synapses (Aljundi et al., 2018)."""

from __future__ import annotations

from torch import Tensor

from if2net.study.methods.importance import Importance, gradient_moments


class MAS(Importance):
    """Loss + λ·ΣΩ(θ − θ*)², where Ω = Σ_t E_x|∂‖z(x)‖²/∂θ| says how much the outputs z hang on a parameter.

    The absolute value is each sample's own. Ω is summed over the tasks, as in the original; it grows with the logits.
    The default λ = 1 is the original's and that of Hsu et al. (2018).
    """

    name = "mas"
    summary = "a penalty on parameters that move the outputs most; keeps no data"

    @property
    def stiffness(self) -> float:
        return 2 * self.settings.strength

    def measured(self, X: Tensor) -> list[Tensor]:
        return gradient_moments(self.network, X, self._squared_norm, power=1)

    def _squared_norm(self, logits: Tensor) -> Tensor:
        return self.in_scope(logits).square().sum(dim=1, keepdim=True)
