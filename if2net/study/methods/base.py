"""What every compared method is: learn a task, predict. One file a method, all of them in the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Costs:
    """What a method keeps between tasks."""

    state_bytes: int
    exemplars: int
    parameters: int


class Method(ABC):
    """Learns tasks one after the other. It is handed the current task's training data and nothing else.

    Classes are numbered by their place in the stream. A method draws randomness only from its seed and the number
    of the task, so that going on from a saved state gives the uninterrupted result.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type]

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: Any) -> None:
        self.inputs, self.seed, self.device, self.settings = inputs, seed, device, settings
        self.tasks = 0

    @classmethod
    def defaults(cls, protocol: str) -> dict[str, Any]:
        """Settings that differ from the dataclass's own under this protocol."""
        return {}

    def generator(self, salt: int) -> torch.Generator:
        """Randomness that depends on the seed, the number of the task and the salt alone."""
        return torch.Generator().manual_seed((self.seed * 1009 + self.tasks) * 97 + salt)

    def device_generator(self, salt: int) -> torch.Generator:
        """The same, for what is drawn where it is used, at every step."""
        return torch.Generator(self.device).manual_seed(self.generator(salt).initial_seed())

    @abstractmethod
    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        """Learn the next task."""

    @abstractmethod
    def predict(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> np.ndarray:
        """The class of every sample. Only IF2Net has a use for `task` (aware) and `transductive`."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """Everything kept between tasks."""

    @abstractmethod
    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what `tensors` gave."""

    @abstractmethod
    def costs(self) -> Costs: ...


def bytes_of(tensors: dict[str, Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
