"""Joint: training from scratch on the data of all tasks so far, the upper bound."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from if2net.methods.base import Costs, bytes_of
from if2net.methods.trainer import Trainer


class Joint(Trainer):
    """Keeps all data and starts anew at each task, so that no warm start favours the past."""

    name = "joint"
    summary = "trained anew on the data of all tasks so far; the upper bound"

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: Any) -> None:
        super().__init__(inputs, seed, device, settings)
        self.X = torch.empty(0, inputs, device=device)
        self.y = torch.empty(0, dtype=torch.int64, device=device)

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.X, self.y = torch.cat([self.X, X]), torch.cat([self.y, y])
        self.network = self._new_network(int(self.y.max()) + 1)

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.X, self.y

    def tensors(self) -> dict[str, Tensor]:
        return {**super().tensors(), "X": self.X, "y": self.y}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        super().restore(tensors)
        self.X, self.y = tensors["X"].to(self.device), tensors["y"].to(self.device)

    def costs(self) -> Costs:
        return Costs(bytes_of(self.tensors()), len(self.y), super().costs().parameters)
