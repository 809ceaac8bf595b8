"""What the methods share that give every task features of its own: one head, each row of which reads one task's."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.errors import ConfigurationError
from if2net.study.methods.network import Network
from if2net.study.methods.settings import TrainerSettings
from if2net.study.methods.trainer import Trainer


@dataclass(frozen=True)
class BranchesSettings(TrainerSettings):
    scope: str = "current"  # the only one: rows of earlier tasks do not read the features of this one

    def __post_init__(self) -> None:
        if self.scope != "current":
            raise ConfigurationError("Every task has its own features in this method; leave its scope at `current`.")


class BranchedNetwork(Network, ABC):
    """A network that grows a branch, whatever that is, with each task."""

    @abstractmethod
    def grow_branch(self) -> None:
        """Make room for one more task."""

    @abstractmethod
    def branch(self, X: Tensor, task: int) -> Tensor:
        """The features of this task."""


class Branches(Trainer):
    """Trains one branch a task, and the rows of the head that belong to it."""

    Settings = BranchesSettings
    network: BranchedNetwork

    def begin(self, X: Tensor, y: Tensor) -> None:
        if self.tasks:
            self.network.grow_branch()

    def finish(self, X: Tensor, y: Tensor) -> None:
        ends = self.state.get("ends", torch.zeros(1, dtype=torch.int64, device=self.device))
        self.state["ends"] = torch.cat([ends, ends.new_tensor([self.network.classes])])

    def rows(self) -> list[slice]:
        """The rows of the head that belong to each task."""
        return [slice(start, end) for start, end in itertools.pairwise(self.state["ends"].tolist())]

    def logits(self, X: Tensor) -> list[Tensor]:
        """Each task's own classifier."""
        head = self.network.head
        return [
            F.linear(self.network.branch(X, task), head.weight[rows], head.bias[rows])
            for task, rows in enumerate(self.rows())
        ]
