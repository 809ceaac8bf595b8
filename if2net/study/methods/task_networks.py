"""ARI's networks: one for each task, which are never built, since they differ from a common one by low rank."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from if2net.study.methods.network import Network


class GatedNetwork(Network):
    """A network that sees a ⊙ x, where the gate is a = σ(Ax + b)."""

    def __init__(self, inputs: int, classes: int, hidden: int, depth: int, generator: torch.Generator) -> None:
        super().__init__(inputs, classes, hidden, depth, generator)
        self.attention = self._linear(inputs, inputs)

    def gate(self, X: Tensor) -> Tensor:
        return torch.sigmoid(self.attention(X))

    def features(self, X: Tensor) -> Tensor:
        return super().features(self.gate(X) * X)


class Rows(NamedTuple):
    """How a step moves a layer of the tasks' networks: W by Σ d_j a_jᵀ over the task's samples j, b by Σ d_j."""

    given: Tensor  # a_j, what the layer was given for each sample
    moves: Tensor  # d_j = −rate δ_j, with δ_j the gradient of the loss with regard to what it gave


Descent = dict[nn.Module, Rows]


def recorded(
    network: GatedNetwork, X: Tensor, before: Descent, together: Tensor
) -> tuple[dict[nn.Module, Tensor], dict[nn.Module, Tensor]]:
    """What each layer is given and what it gives, each sample in the network of its task after the step `before`.

    The tasks' networks differ from the common one by as many outer products as they have samples, and are never
    built: with M for which samples are `together` in a task, a layer is A ↦ AWᵀ + b + ((AA₀ᵀ + 1) ∘ M)D₀.
    """
    given, gave = {}, {}

    def linear(layer: nn.Module, A: Tensor) -> Tensor:
        given[layer], gave[layer] = A, layer(A)
        if layer in before:
            gave[layer] = gave[layer] + ((A @ before[layer].given.T + 1) * together) @ before[layer].moves
        return gave[layer]

    X = torch.sigmoid(linear(network.attention, X)) * X
    for layer in network.hidden:
        X = torch.relu(linear(layer, X))
    linear(network.head, X)
    return given, gave
