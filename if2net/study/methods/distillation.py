"""What a network learns from its predecessor; shared by BiC and RPS-Net."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from if2net.study.methods.network import Network
from if2net.study.methods.replay import Replay, ReplaySettings


@dataclass(frozen=True)
class DistillationSettings(ReplaySettings):
    temperature: float = 2.0


class Distillation(Replay):
    """Replay, with the network as it was before the task for a teacher.

    The teacher is the network that is kept between tasks anyway, so it adds nothing to what is kept.
    """

    Settings = DistillationSettings
    teacher: Network  # its head rows for the new classes are untrained

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.teacher = copy.deepcopy(self.network).requires_grad_(False)

    def divergence(self, logits: Tensor, target: Tensor) -> Tensor:
        """The terms p·log(p/q) of KL(p‖q), a column a class; p is the softened target, q the softened logits."""
        q, p = (F.log_softmax(values / self.settings.temperature, dim=1) for values in (logits, target))
        return F.kl_div(q, p, reduction="none", log_target=True)
