"""Networks with separate features for each task; shared by EFT and PCL."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.errors import ConfigurationError
from if2net.study.methods.common.network import Network
from if2net.study.methods.common.trainer import Trainer, TrainerSettings


@dataclass(frozen=True)
class BranchesSettings(TrainerSettings):
    scope: str = "current"  # the only choice: head rows of earlier tasks do not read the features of this task

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scope != "current":
            raise ConfigurationError("This method has separate features per task; leave its scope at `current`.")


class BranchedNetwork(Network, ABC):
    """A network that gains one branch per task. Each head row reads the features of one branch."""

    def __init__(self, inputs: int, classes: int, settings: BranchesSettings, generator: torch.Generator) -> None:
        super().__init__(inputs, classes, settings.hidden, settings.depth, generator)

    @abstractmethod
    def grow_branch(self) -> None:
        """Add the branch of the next task."""

    @abstractmethod
    def branch(self, X: Tensor, task: int) -> Tensor:
        """The features of the task's branch."""


class Branches(Trainer):
    """Train one branch per task, and the head rows that belong to it."""

    Settings = BranchesSettings
    network_type: type[BranchedNetwork]
    network: BranchedNetwork

    def build(self, classes: int) -> BranchedNetwork:
        network = self.network_type(self.inputs, classes, self.settings, torch.Generator().manual_seed(self.seed))
        for _ in range(1, self.tasks):
            network.grow_branch()
        return network

    def begin(self, X: Tensor, y: Tensor) -> None:
        if self.tasks:
            self.network.grow_branch()

    def finish(self, X: Tensor, y: Tensor) -> None:
        ends = self.state.get("ends", torch.zeros(1, dtype=torch.int64, device=self.device))
        self.state["ends"] = torch.cat([ends, ends.new_tensor([self.network.classes])])

    def rows(self) -> list[slice]:
        """The head rows of each task."""
        return [slice(start, end) for start, end in itertools.pairwise(self.state["ends"].tolist())]

    def logits(self, X: Tensor) -> list[Tensor]:
        """The logits of each task's own classifier."""
        head = self.network.head
        return [
            F.linear(self.network.branch(X, task), head.weight[rows], head.bias[rows])
            for task, rows in enumerate(self.rows())
        ]
