"""OL-EWC: online EWC (Schwarz et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.study.methods.ewc import EWC, EWCSettings


@dataclass(frozen=True)
class OnlineEWCSettings(EWCSettings):
    strength: float = 100.0  # λ of Hsu et al. (2018) for this stream, whose penalty has no ½
    decay: float = 1.0  # γ, what is left of the old importance after a task

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.decay <= 1:
            raise ConfigurationError(
                f"The decay is what is left after a task and lies in [0, 1], not at {self.decay}."
            )


class OnlineEWC(EWC):
    """Loss + (λ/2)·ΣγF(θ − θ*)², with one running Fisher F ← γF + F_t and the latest parameters for its anchor."""

    name = "ol-ewc"
    summary = "EWC with one running Fisher and the latest anchor; keeps no data"
    Settings = OnlineEWCSettings

    @property
    def stiffness(self) -> float:
        return self.settings.strength * self.settings.decay

    def consolidate(self, found: list[Tensor]) -> None:
        self.importance = [self.settings.decay * old + new for old, new in zip(self.importance, found, strict=True)]
        self.anchor = self.position()
