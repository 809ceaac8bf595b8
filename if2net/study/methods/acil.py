"""ACIL: analytic class-incremental learning (Zhuang et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.projector import RecursiveProjector
from if2net.encoder import Blocks, EncoderConfig
from if2net.errors import ConfigurationError, NumericalError
from if2net.study.methods.common.statistical import Linear, Statistical, StatisticalSettings


@dataclass(frozen=True)
class ACILSettings(StatisticalSettings):
    """The defaults of the authors' code."""

    width: int = 8192  # of the buffer layer
    gamma: float = 0.1  # γ, the ridge

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma <= 0:
            raise ConfigurationError(f"The ridge gamma must be positive, but it is {self.gamma}.")


class ACIL(Statistical):
    """Solve ‖VW − Y‖² + γ‖W‖² over all tasks by the recursion R ← R − RVᵀ(I + VRVᵀ)⁻¹VR from R = I/γ, in float64.

    The recursion is that of the projector, P = γR. The weights W + RVᵀ(Y − VW) of the original equal RQ at every
    step, so P and Q are kept. The buffer layer is the authors': ReLU, uniform in ±1/√d, no bias. Departure: there is
    no backbone, which the authors train on a large first task.
    """

    name = "acil"
    summary = "random buffer layer and recursive least squares; keeps no data"
    Settings = ACILSettings
    gram = False
    stored = torch.float64

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: ACILSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.recursion = RecursiveProjector(settings.width, settings.gamma, device=device)

    def encoding(self) -> EncoderConfig:
        return EncoderConfig(
            layers=(Blocks(self.settings.width, 1),),
            distribution="uniform",
            scale=self.inputs**-0.5,
            standardise=self.settings.standardise,
        )

    def add(self, V: Tensor, y: Tensor) -> None:
        super().add(V, y)
        try:
            self.recursion.update(V)
        except NumericalError as error:
            raise NumericalError(
                f"The recursion has lost its precision at gamma={self.settings.gamma}; set a larger gamma."
            ) from error
        self.state["P"] = self.recursion.P

    def restore(self, tensors: dict[str, Tensor]) -> None:
        super().restore(tensors)
        self.recursion.P = self.state["P"]

    def classifier(self) -> Linear:
        Q = self.statistics[0].Q
        return self.state["P"] @ Q / self.settings.gamma, Q.new_zeros(Q.shape[1])  # W = RQ
