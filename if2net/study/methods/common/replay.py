"""A memory of exemplars, and training on the task together with the memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.study.methods.common.trainer import Trainer, TrainerSettings


@dataclass(frozen=True)
class ReplaySettings(TrainerSettings):
    memory: int = 4400  # exemplars of all classes together; the paper's budget for most datasets

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scope != "seen":
            raise ConfigurationError(
                "A loss over the current task's classes cannot use exemplars of earlier classes; "
                "leave the scope of a method with a memory at `seen`."
            )


class Replay(Trainer):
    """Train on the current task and on exemplars of earlier tasks.

    All methods use the same memory. Its budget is divided evenly among the classes seen so far, and the exemplars of
    a class are drawn at random.
    """

    Settings = ReplaySettings

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: ReplaySettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["memory.X"] = torch.empty(0, inputs, device=device)
        self.state["memory.y"] = torch.empty(0, dtype=torch.int64, device=device)
        self.state["memory.task"] = torch.empty(0, dtype=torch.int64, device=device)

    @property
    def memory(self) -> tuple[Tensor, Tensor]:
        """The exemplars of earlier tasks and their labels."""
        return self.state["memory.X"], self.state["memory.y"]

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        old_X, old_y = self.memory
        return torch.cat([X, old_X]), torch.cat([y, old_y])

    def finish(self, X: Tensor, y: Tensor) -> None:
        self.remember(X, y)

    def remember(self, X: Tensor, y: Tensor) -> None:
        """Add exemplars of the current task, and drop old ones until the memory is within its budget."""
        old_X, old_y = self.memory
        X, y = torch.cat([old_X, X]), torch.cat([old_y, y])
        tasks = torch.cat([self.state["memory.task"], torch.full_like(y[len(old_y) :], self.tasks)])
        kept = self.choose_exemplars(y)
        self.state |= {"memory.X": X[kept], "memory.y": y[kept], "memory.task": tasks[kept]}

    def choose_exemplars(self, y: Tensor) -> Tensor:
        """Draw ⌊memory / classes⌋ samples of each class at random, and return their indices in ascending order."""
        share = self.settings.memory // int(y.max() + 1)
        shuffled = torch.randperm(len(y), generator=self.generator(salt=3)).to(y.device)
        chosen = [shuffled[y[shuffled] == label][:share] for label in y.unique().tolist()]
        return torch.cat(chosen).sort().values

    def exemplars(self) -> int:
        return len(self.state["memory.y"])
