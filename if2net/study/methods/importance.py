"""What EWC, online EWC, MAS and SI share: how important each parameter is, and a pull back to where it was."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.study.methods.layers import recorded
from if2net.study.methods.network import Network
from if2net.study.methods.settings import TrainerSettings
from if2net.study.methods.trainer import Trainer

CHUNK = 1024  # samples at a time: bounds the memory, not the result


@dataclass(frozen=True)
class ImportanceSettings(TrainerSettings):
    strength: float = 1.0  # of the penalty: λ, or c for SI

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strength < 0:
            raise ConfigurationError(f"The strength of a penalty cannot be negative; {self.strength} is.")


class Importance(Trainer):
    """The penalty (s/2)·ΣΩ(θ − θ*)², with an importance Ω and an anchor θ* for each parameter.

    An explicit step along it diverges once ηsΩ > 2, so the step is implicit: θ ← (θ + aθ*)/(1 + a), a = ηsΩ. Under
    momentum m the loss moves θ by η/(1 − m) times its gradient in the long run; so does the penalty, to keep its
    weight against the loss. Rows of the head that are new with a task are not held.
    """

    Settings = ImportanceSettings
    # One tensor a parameter; of the current task, and saved after it.
    anchor: list[Tensor]
    importance: list[Tensor]
    pull: list[Tensor]  # a/(1 + a)

    @property
    @abstractmethod
    def stiffness(self) -> float:
        """s, the second derivative of the penalty where Ω is one."""

    @abstractmethod
    def measured(self, X: Tensor) -> list[Tensor]:
        """How important each parameter is to the task just learned."""

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.anchor = self._grown("anchor", self.position())
        self.importance = self._grown("importance", [torch.zeros_like(value) for value in self.anchor])
        rate = self.settings.rate / (1 - self.settings.momentum)
        amounts = [rate * self.stiffness * importance for importance in self.importance]
        self.pull = [a / (1 + a) for a in amounts]

    @torch.no_grad()
    def after_step(self) -> None:
        parameters: list[Tensor] = list(self.network.parameters())
        torch._foreach_lerp_(parameters, self.anchor, self.pull)

    def finish(self, X: Tensor, y: Tensor) -> None:
        self.consolidate(self.measured(X))
        for index, name in enumerate(self._names()):
            self.state[f"anchor.{name}"] = self.anchor[index]
            self.state[f"importance.{name}"] = self.importance[index]

    def consolidate(self, found: list[Tensor]) -> None:
        """Take the importance found after a task in: Ω ← Ω + Ω_t and θ* ← θ, unless a method does otherwise."""
        self.importance = [old + new for old, new in zip(self.importance, found, strict=True)]
        self.anchor = self.position()

    def position(self) -> list[Tensor]:
        """A copy of θ."""
        return [parameter.detach().clone() for parameter in self.network.parameters()]

    def in_scope(self, logits: Tensor) -> Tensor:
        """The logits that the loss was over."""
        return logits[:, self.old :] if self.settings.scope == "current" else logits

    def _names(self) -> list[str]:
        return [name for name, _ in self.network.named_parameters()]

    def _grown(self, kind: str, values: list[Tensor]) -> list[Tensor]:
        """What was kept of the earlier tasks; `values` in the rows that are new."""
        if self.tasks > 0:
            for name, value in zip(self._names(), values, strict=True):
                kept = self.state[f"{kind}.{name}"]
                value[: len(kept)] = kept
        return values


def gradient_moments(network: Network, X: Tensor, scores: Callable[[Tensor], Tensor], power: int) -> list[Tensor]:
    """E_x Σ_k |∂s_k(x)/∂θ|^p for each parameter of a network of linear layers; `scores` makes s from its output.

    One sample's gradient in a weight is δ⊗a, with a what the layer was given and δ the gradient in what it gave. Its
    power is |δ|^p ⊗ |a|^p, and the sum over samples a matrix product: no sample's own gradient is ever formed.
    """
    moments = [torch.zeros_like(parameter) for parameter in network.parameters()]
    for part in X.split(CHUNK):
        given, gave = recorded(network, part)
        inputs = [a.detach().abs().pow(power) for a in given]
        for score in scores(gave[-1]).sum(dim=0):  # samples do not mix, so δ is each sample's own
            deltas = torch.autograd.grad(score, gave, retain_graph=True)
            for index, (a, delta) in enumerate(zip(inputs, deltas, strict=True)):
                delta = delta.abs().pow(power)
                moments[2 * index] += delta.T @ a / len(X)
                moments[2 * index + 1] += delta.sum(dim=0) / len(X)
    return moments
