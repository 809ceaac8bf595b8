"""IF2Net and IF2Net-EWC as compared methods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from if2net import snapshot
from if2net.config import Config
from if2net.learner import IF2Net
from if2net.study.methods.base import Costs, Method, bytes_of


class IF2NetMethod(Method):
    """The learner of this library; agnostic by default."""

    name = "if2net"
    summary = "frozen random layers, analytic output layer; keeps no data (ours)"
    Settings = Config
    rule: ClassVar[str] = "analytic"

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: Any) -> None:
        super().__init__(inputs, seed, device, settings)
        self.net = IF2Net(replace(settings, seed=seed, device=str(device)))

    @classmethod
    def defaults(cls, protocol: str) -> dict[str, Any]:
        """Where the task is known, the paper's layers with one representation a task; else the default encoder."""
        known = {} if protocol == "agnostic" else {"encoder": "paper", "representation": "per-task"}
        return {**known, "rule": cls.rule}

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self.net.learn(X, y)
        if self.net.decision is not None:
            _ = self.net.decision.beta  # solving belongs to learning, so it is timed as such
        self.tasks += 1

    def predict(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> np.ndarray:
        return self.net.predict(X, task=task, transductive=transductive)

    def tensors(self) -> dict[str, Tensor]:
        return snapshot.take(self.net)

    def restore(self, tensors: dict[str, Tensor]) -> None:
        snapshot.put(self.net, tensors, list(range(len(tensors["total.counts"]))), self.tasks)

    def costs(self) -> Costs:
        tensors = self.tensors()
        frozen = sum(tensor.numel() for tensor in snapshot.frozen(self.net).values())
        return Costs(bytes_of(tensors), 0, frozen + tensors["total.Q"].numel())


class IF2NetGradient(IF2NetMethod):
    """The paper's own rule: gradient steps, projected to the directions that the old data does not use."""

    name = "if2net-gradient"
    summary = "the paper's projected gradient; keeps no data"
    rule = "gradient"


class IF2NetElastic(IF2NetMethod):
    """The paper's IF2Net-EWC: projected gradient steps with the Fisher penalty."""

    name = "if2net-ewc"
    summary = "the paper's projected gradient with an EWC penalty; keeps no data"
    rule = "ewc"
