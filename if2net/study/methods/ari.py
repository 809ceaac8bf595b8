"""ARI: anti-retroactive interference (Wang et al., 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm
from torch.nn import functional as F

from if2net.study.methods.common.network import Network, linear_layers
from if2net.study.methods.common.replay import Replay, ReplaySettings
from if2net.study.methods.common.trainer import TrainerSettings

OFFSET = 0.85  # added to the weight of each task, so that the weights are not too unequal
ELEMENTS = 2**26  # the largest number of entries of the tasks' moves that exist at a time


@dataclass(frozen=True)
class ARISettings(ReplaySettings):
    rate: float = 0.1
    epsilon: float = 1 / 255  # the largest change of an input by the attack
    decay: float = 0.1  # the original's β/T (0.5 over 5 tasks), since the number of tasks T is not known here

    def __post_init__(self) -> None:
        TrainerSettings.__post_init__(self)  # the loss is computed per task, so that both scopes are possible


class GatedNetwork(Network):
    """A network with the input a ⊙ x, where a = σ(Ax + b) is the gate."""

    def __init__(self, inputs: int, classes: int, hidden: int, depth: int, generator: torch.Generator) -> None:
        super().__init__(inputs, classes, hidden, depth, generator)
        self.attention = self._linear(inputs, inputs)

    def gate(self, X: Tensor) -> Tensor:
        return torch.sigmoid(self.attention(X))

    def features(self, X: Tensor) -> Tensor:
        return super().features(self.gate(X) * X)


class Move(NamedTuple):
    """The step of one layer of the task networks: W moves by Σ d_j a_jᵀ over the task's samples j, and b by Σ d_j."""

    inputs: Tensor  # a_j: the input of the layer for each sample
    moves: Tensor  # d_j = −rate·δ_j, where δ_j is the gradient of the loss in the output of the layer


Descent = dict[nn.Module, Move]


class ARI(Replay):
    """From each batch, derive one network per task by two gradient steps, and fuse the networks into one.

    `descents` holds the loss: a task's network takes one step on its samples, and one on the same samples attacked
    where the gate is closed. `fuse` weights the tasks by the size of their moves. The fused move is passed to the
    optimiser as a gradient; without momentum it is the paper's update. Exemplars are kept between tasks. As in the
    paper, but not in its code, all task networks start from the same network and the fusion weights take effect.

    Departures: the gate is for vectors instead of images; predictions are made per sample over all classes; the
    loss is over all classes seen so far, so that their scores are comparable. The original's loss is over the
    classes of the sample's own task (`scope=current`), and its figures infer the task from a chunk of test samples
    known to share it.
    """

    name = "ari"
    summary = "replay; one network per task from each batch, trained against attacks and fused"
    Settings = ARISettings
    graph_safe = True
    network_type = GatedNetwork
    network: GatedNetwork

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: ARISettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["task"] = torch.empty(0, dtype=torch.int64, device=device)  # the task of each class

    def begin(self, X: Tensor, y: Tensor) -> None:
        new = torch.full((self.network.classes - self.old_classes,), self.tasks, device=self.device)
        self.state["task"] = torch.cat([self.state["task"], new])
        self.random = self.device_generator(salt=4)

    def step(self, X: Tensor, y: Tensor) -> None:
        task = self.state["task"][y]
        first, second = self.descents(X, y, task)
        belongs = (task == torch.arange(self.tasks + 1, device=self.device)[:, None]).repeat(1, 2)
        scale = -math.exp(-self.settings.decay * self.tasks) / self.settings.rate
        for layer in linear_layers(self.network):
            inputs, moves = (torch.cat(parts) for parts in zip(first[layer], second[layer], strict=True))
            layer.weight.grad = scale * fuse(moves, inputs, belongs)
            layer.bias.grad = scale * fuse(moves, torch.ones_like(inputs[:, :1]), belongs).squeeze(1)
        self.optimiser.step()

    def descents(self, X: Tensor, y: Tensor, task: Tensor) -> tuple[Descent, Descent]:
        """The two steps of the task networks, on the samples and on the attacked samples; `task` is per sample.

        Each sample passes only through the network of its own task. The losses of the tasks are independent, so the
        gradient of their sum contains the gradient of each.
        """
        network, rate, epsilon = self.network, self.settings.rate, self.settings.epsilon
        together = task[:, None] == task
        target = (y[:, None] == torch.arange(network.classes, device=self.device)).float()
        weight = self.class_weights(task, together)

        def loss(logits: Tensor) -> Tensor:
            """The sum over the tasks of the binary cross-entropy on each task's samples."""
            return F.binary_cross_entropy_with_logits(logits, target, weight=weight, reduction="sum")

        def descend(X: Tensor, previous: Descent) -> Descent:
            inputs, outputs = run_task_networks(network, X, previous, together)
            slopes = torch.autograd.grad(loss(outputs[network.head]), list(outputs.values()))
            return {
                layer: Move(rows.detach(), -rate * slope)
                for (layer, rows), slope in zip(inputs.items(), slopes, strict=True)
            }

        with torch.no_grad():
            background = 1 - network.gate(X) ** 2
            noise = torch.empty_like(X).uniform_(-epsilon, epsilon, generator=self.random)
        first = descend(X, {})
        near = (X + noise).requires_grad_()
        _, outputs = run_task_networks(network, near, first, together)
        (slope,) = torch.autograd.grad(loss(outputs[network.head]), near)
        attack = ((noise + epsilon * slope.sign()) * background).clamp(-epsilon, epsilon)
        return first, descend(X + attack, first)

    def class_weights(self, task: Tensor, together: Tensor) -> Tensor:
        """The weights that make the loss of each task a mean over its samples and over the classes in the scope."""
        in_scope = task[:, None] == self.state["task"]
        if self.settings.scope == "seen":
            in_scope = torch.ones_like(in_scope)
        return in_scope / (in_scope.sum(dim=1, keepdim=True) * together.sum(dim=1, keepdim=True))


def run_task_networks(
    network: GatedNetwork, X: Tensor, previous: Descent, together: Tensor
) -> tuple[dict[nn.Module, Tensor], dict[nn.Module, Tensor]]:
    """The input and output of each layer, with each sample in the network of its own task after the step `previous`.

    A task's network differs from the common one by one outer product per sample, so it is never built. With the mask
    M of samples that are `together` in a task, a layer is A ↦ AWᵀ + b + ((AA₀ᵀ + 1) ∘ M)D₀.
    """
    inputs, outputs = {}, {}

    def linear(layer: nn.Module, A: Tensor) -> Tensor:
        inputs[layer], outputs[layer] = A, layer(A)
        if layer in previous:
            change = ((A @ previous[layer].inputs.T + 1) * together) @ previous[layer].moves
            outputs[layer] = outputs[layer] + change
        return outputs[layer]

    X = torch.sigmoid(linear(network.attention, X)) * X
    for layer in network.hidden:
        X = torch.relu(linear(layer, X))
    linear(network.head, X)
    return inputs, outputs


def fuse(moves: Tensor, inputs: Tensor, belongs: Tensor) -> Tensor:
    """Σ w_k Δ_k with w_k ∝ ‖Δ_k‖₁² + 0.85, over the tasks k in the batch; Δ_k = Σ d_j a_jᵀ over the samples of k."""
    if len(belongs) == 1:  # the first task needs no weights
        return moves.T @ inputs
    weight = (move_sizes(moves, inputs, belongs) ** 2 + OFFSET) * belongs.any(dim=1)
    of_row = (weight[:, None] * belongs).sum(dim=0) / weight.sum()
    return (of_row[:, None] * moves).T @ inputs


def move_sizes(moves: Tensor, inputs: Tensor, belongs: Tensor) -> Tensor:
    """‖Δ_k‖₁ of each task. Each Δ_k is as large as the layer, so they are computed in chunks.

    On a GPU this takes most of a step. It uses bfloat16 there, since rounding errors cancel in such a long sum.
    """
    dtype, exact = (torch.bfloat16 if moves.is_cuda else moves.dtype), moves.dtype
    moves, inputs = moves.to(dtype), inputs.to(dtype)
    chunks = belongs.split(max(1, ELEMENTS // (moves.shape[1] * inputs.shape[1])))
    products = ((chunk[:, :, None] * moves).mT @ inputs for chunk in chunks)
    return torch.cat([vector_norm(product, ord=1, dim=(1, 2), dtype=exact) for product in products])
