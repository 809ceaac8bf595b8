"""Replay with distillation from the network before the task; shared by BiC and RPS-Net."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from if2net.study.methods.common.network import Network
from if2net.study.methods.common.replay import Replay, ReplaySettings


@dataclass(frozen=True)
class DistillationSettings(ReplaySettings):
    temperature: float = 2.0


class Distillation(Replay):
    """Replay in which the network before the task is the teacher.

    The teacher adds nothing to the state: the network is kept between tasks in any case.
    """

    Settings = DistillationSettings
    teacher: Network  # its head rows for the new classes are untrained

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.teacher = copy.deepcopy(self.network).requires_grad_(False)

    def divergence(self, logits: Tensor, target: Tensor) -> Tensor:
        """The terms p·log(p/q) of KL(p‖q) per class, where p = softmax(target/T) and q = softmax(logits/T)."""
        q, p = (F.log_softmax(values / self.settings.temperature, dim=1) for values in (logits, target))
        return F.kl_div(q, p, reduction="none", log_target=True)
