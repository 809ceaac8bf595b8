"""The penalty of EWC, online EWC, MAS and SI: important parameters are pulled back to their old values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.study.methods.common.network import Network, run_layers
from if2net.study.methods.common.trainer import Trainer, TrainerSettings

CHUNK = 1024  # samples per pass of `gradient_moments`; bounds its memory and does not change its result


@dataclass(frozen=True)
class ImportanceSettings(TrainerSettings):
    strength: float = 1.0  # of the penalty: λ, or c for SI

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strength < 0:
            raise ConfigurationError(f"The strength of a penalty cannot be negative, but it is {self.strength}.")


class ImportancePenalty(Trainer):
    """Add the penalty (s/2)·ΣΩ(θ − θ*)² to the loss, with an importance Ω and an anchor θ* for each parameter.

    An explicit gradient step on the penalty diverges if ηsΩ > 2. The step is therefore implicit, and `after_step`
    takes it: θ ← (θ + aθ*)/(1 + a) with a = ηsΩ. Under momentum m the loss moves θ by η/(1 − m) times its gradient
    in the long run. The penalty uses the same rate, so that its weight relative to the loss does not depend on m.
    Head rows of new classes have importance 0.
    """

    Settings = ImportanceSettings
    # One tensor per parameter.
    anchor: list[Tensor]  # θ*
    importance: list[Tensor]  # Ω
    pull: list[Tensor]  # a/(1 + a)

    @property
    @abstractmethod
    def stiffness(self) -> float:
        """The factor s: the second derivative of the penalty for Ω = 1."""

    @abstractmethod
    def measure_importance(self, X: Tensor) -> list[Tensor]:
        """The importance of each parameter for the task just learned."""

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.anchor = self._with_old_values("anchor", self.copy_parameters())
        self.importance = self._with_old_values("importance", [torch.zeros_like(value) for value in self.anchor])
        rate = self.settings.rate / (1 - self.settings.momentum)
        amounts = [rate * self.stiffness * importance for importance in self.importance]
        self.pull = [a / (1 + a) for a in amounts]

    @torch.no_grad()
    def after_step(self) -> None:
        """Take the implicit step on the penalty: θ ← θ + a/(1 + a)·(θ* − θ)."""
        parameters: list[Tensor] = list(self.network.parameters())
        torch._foreach_lerp_(parameters, self.anchor, self.pull)

    def finish(self, X: Tensor, y: Tensor) -> None:
        self.consolidate(self.measure_importance(X))
        for index, name in enumerate(self._names()):
            self.state[f"anchor.{name}"] = self.anchor[index]
            self.state[f"importance.{name}"] = self.importance[index]

    def consolidate(self, measured: list[Tensor]) -> None:
        """Add the importance measured after a task: Ω ← Ω + Ω_t and θ* ← θ."""
        self.importance = [old + new for old, new in zip(self.importance, measured, strict=True)]
        self.anchor = self.copy_parameters()

    def copy_parameters(self) -> list[Tensor]:
        """A copy of θ."""
        return [parameter.detach().clone() for parameter in self.network.parameters()]

    def in_scope(self, logits: Tensor) -> Tensor:
        """The logits that the loss uses."""
        return logits[:, self.old_classes :] if self.settings.scope == "current" else logits

    def _names(self) -> list[str]:
        return [name for name, _ in self.network.named_parameters()]

    def _with_old_values(self, kind: str, values: list[Tensor]) -> list[Tensor]:
        """Overwrite `values` by those kept from earlier tasks; only the rows of new classes stay as given."""
        if self.tasks > 0:
            for name, value in zip(self._names(), values, strict=True):
                kept = self.state[f"{kind}.{name}"]
                value[: len(kept)] = kept
        return values


def gradient_moments(network: Network, X: Tensor, scores: Callable[[Tensor], Tensor], power: int) -> list[Tensor]:
    """E_x Σ_k |∂s_k(x)/∂θ|^p for each parameter, where `scores` computes s from the logits.

    For one sample the gradient of a weight matrix is δ⊗a, where a is the input of the layer and δ the gradient of
    its output. Its power is |δ|^p ⊗ |a|^p, so the sum over the samples is a matrix product.
    """
    moments = [torch.zeros_like(parameter) for parameter in network.parameters()]
    for part in X.split(CHUNK):
        inputs, outputs = run_layers(network, part)
        powers = [a.detach().abs().pow(power) for a in inputs]
        for score in scores(outputs[-1]).sum(dim=0):  # each sample has its own δ, since samples do not mix
            deltas = torch.autograd.grad(score, outputs, retain_graph=True)
            for index, (a, delta) in enumerate(zip(powers, deltas, strict=True)):
                delta = delta.abs().pow(power)
                moments[2 * index] += delta.T @ a / len(X)
                moments[2 * index + 1] += delta.sum(dim=0) / len(X)
    return moments
