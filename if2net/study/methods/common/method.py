"""The interface of a compared method: learn one task after another, and predict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Costs:
    """The size of the state that a method keeps between tasks."""

    state_bytes: int
    exemplars: int
    parameters: int


class Method(ABC):
    """A method that learns tasks one after another, given the training data of the current task only.

    Classes are numbered in the order in which the stream brings them. All randomness comes from the seed and the
    number of the task, so a run resumed from a saved state gives the same result as an uninterrupted one.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type]

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: Any) -> None:
        self.inputs, self.seed, self.device, self.settings = inputs, seed, device, settings
        self.tasks = 0  # learned so far

    @classmethod
    def defaults(cls, protocol: str) -> dict[str, Any]:
        """Settings whose default depends on the protocol."""
        return {}

    def generator(self, salt: int) -> torch.Generator:
        """Create a CPU generator that depends only on the seed, the number of the task and the salt."""
        return torch.Generator().manual_seed((self.seed * 1009 + self.tasks) * 97 + salt)

    def device_generator(self, salt: int) -> torch.Generator:
        """Create such a generator on the method's device, for random numbers drawn at every step."""
        return torch.Generator(self.device).manual_seed(self.generator(salt).initial_seed())

    def _samples(self, X: np.ndarray, dtype: type = np.float32) -> Tensor:
        """The samples as a tensor on the method's device."""
        return torch.from_numpy(np.ascontiguousarray(X, dtype=dtype)).to(self.device)

    @abstractmethod
    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        """Learn the next task."""

    def predict(
        self,
        X: np.ndarray,
        *,
        task: int | None = None,
        classes: Sequence[int] | None = None,
        transductive: bool = False,
    ) -> np.ndarray:
        """Predict the class of each sample, one of `classes` where they are given."""
        scores = self.class_scores(X, task=task, transductive=transductive)
        if classes is not None:
            others = torch.ones(scores.shape[1], dtype=torch.bool, device=scores.device)
            others[list(classes)] = False
            scores = scores.masked_fill(others, -torch.inf)
        return scores.argmax(dim=1).cpu().numpy()

    @abstractmethod
    def class_scores(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> Tensor:
        """One score per sample and class seen so far. Only IF2Net uses `task` and `transductive`."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """The whole state that is kept between tasks."""

    @abstractmethod
    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Resume from the result of `tensors`. The caller sets `tasks` first."""

    @abstractmethod
    def costs(self) -> Costs:
        """Measure the state."""


def bytes_of(tensors: dict[str, Tensor]) -> int:
    """Total size of the tensors in bytes."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
