"""Joint: training from scratch on the data of all tasks so far, the upper bound."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.study.methods.base import Costs
from if2net.study.methods.settings import TrainerSettings
from if2net.study.methods.trainer import Trainer


@dataclass(frozen=True)
class JointSettings(TrainerSettings):
    epochs: int = 10  # an upper bound should not lack training


class Joint(Trainer):
    """Keeps all data and starts anew at each task, so that no warm start favours the past."""

    name = "joint"
    summary = "trained anew on the data of all tasks so far; the upper bound"
    Settings = JointSettings
    replays = True

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: TrainerSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["X"] = torch.empty(0, inputs, device=device)
        self.state["y"] = torch.empty(0, dtype=torch.int64, device=device)

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.state["X"], self.state["y"] = torch.cat([self.state["X"], X]), torch.cat([self.state["y"], y])
        self.network = self.build(self.network.classes).to(self.device)

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.state["X"], self.state["y"]

    def costs(self) -> Costs:
        costs = super().costs()
        return Costs(costs.state_bytes, len(self.state["y"]), costs.parameters)
