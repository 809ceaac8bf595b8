"""OL-EWC: online EWC (Schwarz et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.study.methods.ewc import EWC, EWCSettings


@dataclass(frozen=True)
class OnlineEWCSettings(EWCSettings):
    strength: float = 100.0  # λ of Hsu et al. (2018) for this stream, whose penalty has no ½
    decay: float = 1.0  # γ: the share of the old importance that remains after a task

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.decay <= 1:
            raise ConfigurationError(f"The decay must be between 0 and 1, but it is {self.decay}.")


class OnlineEWC(EWC):
    """Loss: CE + (λ/2)·ΣγF(θ − θ*)², with one running Fisher diagonal F ← γF + F_t and the latest θ* ← θ.

    F and θ* are kept between tasks. `ImportancePenalty` takes the step on the penalty.
    """

    name = "ol-ewc"
    summary = "EWC with one running Fisher and the latest anchor; keeps no data"
    Settings = OnlineEWCSettings

    @property
    def stiffness(self) -> float:
        return self.settings.strength * self.settings.decay

    def consolidate(self, measured: list[Tensor]) -> None:
        decay = self.settings.decay
        self.importance = [decay * old + new for old, new in zip(self.importance, measured, strict=True)]
        self.anchor = self.copy_parameters()
