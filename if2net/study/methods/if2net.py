"""IF2Net and the paper's variants of it as compared methods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from if2net.config import Config
from if2net.encoder import INNATE
from if2net.labels import Labels
from if2net.learner import IF2Net
from if2net.membership import restored_members
from if2net.study.methods.common.encoded import EncodedLearner
from if2net.study.methods.common.method import Costs, Method, bytes_of


class IF2NetMethod(Method):
    """The learner of this library, with its analytic rule: ridge regression on frozen random features.

    The statistics n, G and Q are kept between tasks. The equation is in `if2net.decision.analytic`.
    """

    name = "if2net"
    summary = "frozen random layers and an analytic output layer; keeps no data (ours)"
    Settings = Config
    rule: ClassVar[str] = "analytic"

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: Any) -> None:
        super().__init__(inputs, seed, device, settings)
        config = replace(settings, seed=seed, device=str(device))
        # Without the shape of a picture, the rows are the features of the innate network.
        encoded = config.encoder in INNATE and config.image_shape is None
        self.net = EncodedLearner(config, inputs) if encoded else IF2Net(config)

    @classmethod
    def defaults(cls, protocol: str) -> dict[str, Any]:
        """One wide layer. If the task is known, the paper's layers with one representation per task."""
        if protocol == "agnostic":
            return {"encoder": "wide", "rule": cls.rule}
        return {"encoder": "paper", "representation": "per-task", "rule": cls.rule}

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self.net.learn(X, y)
        if self.net.decision is not None:
            _ = self.net.decision.beta  # solved here, so that it is timed as learning
        self.tasks += 1

    def class_scores(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> Tensor:
        seen = self.net.scores(X, task=task, transductive=transductive)
        labels = torch.as_tensor(self.net.classes, device=seen.device)
        scores = seen.new_full((len(seen), int(labels.max()) + 1), -torch.inf)
        scores[:, labels] = seen
        return scores

    def tensors(self) -> dict[str, Tensor]:
        return self.net.tensors()

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.net.restore(tensors, Labels(range(len(tensors["total.counts"]))), self.tasks)

    def costs(self) -> Costs:
        tensors = self.tensors()
        if "members.places" in tensors:  # in memory, the table has its empty places, too, and does not grow
            tensors["members.counts"] = restored_members(tensors)
            del tensors["members.places"]
        frozen = sum(tensor.numel() for tensor in self.net.frozen_tensors().values())
        return Costs(bytes_of(tensors), 0, frozen + tensors["total.Q"].numel())


class IF2NetGradient(IF2NetMethod):
    """The paper's rule: gradient steps, projected onto the directions that the old data does not use."""

    name = "if2net-gradient"
    summary = "the paper's projected gradient; keeps no data"
    rule = "gradient"


class IF2NetElastic(IF2NetMethod):
    """The paper's IF2Net-EWC: projected gradient steps with a Fisher penalty."""

    name = "if2net-ewc"
    summary = "the paper's projected gradient with an EWC penalty; keeps no data"
    rule = "ewc"
