"""Joint: training from scratch on the data of all tasks so far, which it keeps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.study.methods.common.trainer import Trainer, TrainerSettings


@dataclass(frozen=True)
class JointSettings(TrainerSettings):
    rate: float = 0.05  # the usual 0.01 undertrains an upper bound, and 0.16 diverges on some streams of digits
    epochs: int = 10


class Joint(Trainer):
    """Keep all data and train a new network on it at each task, so that no warm start favours earlier tasks.

    The loss is plain cross-entropy over the classes seen so far. It is no strict upper bound: a method with another
    representation, or with a longer training, can be above it.
    """

    name = "joint"
    summary = "a new network trained on the data of all tasks so far; keeps everything"
    Settings = JointSettings
    graph_safe = True

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: TrainerSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["X"] = torch.empty(0, inputs, device=device)
        self.state["y"] = torch.empty(0, dtype=torch.int64, device=device)

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.state["X"], self.state["y"] = torch.cat([self.state["X"], X]), torch.cat([self.state["y"], y])
        self.network = self.build(self.network.classes).to(self.device)

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.state["X"], self.state["y"]

    def exemplars(self) -> int:
        return len(self.state["y"])
