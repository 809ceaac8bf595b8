"""The memory of exemplars, and the trainer of the methods that have one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.study.methods.base import Costs
from if2net.study.methods.settings import TrainerSettings
from if2net.study.methods.trainer import Trainer


@dataclass(frozen=True)
class ReplaySettings(TrainerSettings):
    memory: int = 4400  # exemplars of all classes together; the paper's budget for most datasets

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scope != "seen":
            raise ConfigurationError(
                "Exemplars of old classes have no place in a loss over the current task's classes alone; "
                "leave the scope of a method with a memory at `seen`."
            )


class Replay(Trainer):
    """Trains on the task and on exemplars of the earlier ones.

    All methods have the same memory: the budget is shared evenly between the classes seen so far, and which samples
    of a class are kept is drawn at random.
    """

    Settings = ReplaySettings

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: ReplaySettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["memory.X"] = torch.empty(0, inputs, device=device)
        self.state["memory.y"] = torch.empty(0, dtype=torch.int64, device=device)
        self.state["memory.task"] = torch.empty(0, dtype=torch.int64, device=device)

    @property
    def memory(self) -> tuple[Tensor, Tensor]:
        """The exemplars of the tasks before the current one."""
        return self.state["memory.X"], self.state["memory.y"]

    def memory_of(self, task: int) -> tuple[Tensor, Tensor]:
        chosen = self.state["memory.task"] == task
        X, y = self.memory
        return X[chosen], y[chosen]

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        old_X, old_y = self.memory
        return torch.cat([X, old_X]), torch.cat([y, old_y])

    def finish(self, X: Tensor, y: Tensor) -> None:
        self.remember(X, y)

    def remember(self, X: Tensor, y: Tensor) -> None:
        """Take exemplars of the current task in, and let go of as many old ones as the budget asks for."""
        old_X, old_y = self.memory
        X, y = torch.cat([old_X, X]), torch.cat([old_y, y])
        tasks = torch.cat([self.state["memory.task"], torch.full_like(y[len(old_y) :], self.tasks)])
        kept = self._evenly(y)
        self.state |= {"memory.X": X[kept], "memory.y": y[kept], "memory.task": tasks[kept]}

    def costs(self) -> Costs:
        costs = super().costs()
        return Costs(costs.state_bytes, len(self.state["memory.y"]), costs.parameters)

    def _evenly(self, y: Tensor) -> Tensor:
        """⌊K/|S|⌋ samples of every class, drawn at random."""
        share = self.settings.memory // int(y.max() + 1)
        shuffled = torch.randperm(len(y), generator=self.generator(salt=3)).to(y.device)
        chosen = [shuffled[y[shuffled] == label][:share] for label in y.unique().tolist()]
        return torch.cat(chosen).sort().values
