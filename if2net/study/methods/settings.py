"""The settings that all methods have that train a network."""

from __future__ import annotations

from dataclasses import dataclass

from if2net.errors import unknown

SCOPES = ("seen", "current")


@dataclass(frozen=True)
class TrainerSettings:
    """The paper's optimiser (SGD, 0.01, batches of 64) and its three hidden layers; momentum is ours."""

    hidden: int = 400
    depth: int = 3
    rate: float = 0.01
    momentum: float = 0.9
    batch_size: int = 64
    epochs: int = 5
    steps: int = 1000  # at least so many steps a task, where it has few samples
    scope: str = "seen"  # the loss is over the classes seen so far; `current`: over those of the task alone

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise unknown("scope", self.scope, SCOPES)
