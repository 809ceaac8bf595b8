"""ARI (Wang et al., Anti-Retroactive Interference for Lifelong Learning, ECCV 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.linalg import vector_norm
from torch.nn import functional as F

from if2net.study.methods.layers import layers
from if2net.study.methods.network import Network
from if2net.study.methods.replay import Replay, ReplaySettings
from if2net.study.methods.settings import TrainerSettings
from if2net.study.methods.task_networks import Descent, GatedNetwork, Rows, recorded

OFFSET = 0.85  # keeps the tasks' weights from being too unequal
ELEMENTS = 2**26  # as many entries of the tasks' moves of a layer exist at a time


@dataclass(frozen=True)
class ARISettings(ReplaySettings):
    rate: float = 0.1
    epsilon: float = 1 / 255  # how far an input is moved
    decay: float = 0.1  # the original's β/T, .5 over 5 tasks: how many tasks will come is not known here

    def __post_init__(self) -> None:
        TrainerSettings.__post_init__(self)  # its loss goes task by task, so either scope will do


class ARI(Replay):
    """From each batch one network a task, fused into one; each is hardened where the gate does not look.

    A task's network takes a step on its samples and a step on the same samples, attacked in their background. As
    the paper has it, and not its code, every one sets out from the same network and the weights of the fusion
    count. The fused move is handed to the optimiser as a gradient: without momentum it is the paper's.

    Ours: the gate is for vectors, not images; a prediction is made for each sample alone, over all classes; and so
    that these can be compared, the loss is over all of them. The original's is over the classes of the sample's own
    task (`scope=current`), which leaves the tasks' scores incomparable: its figures infer the task from a chunk of
    test samples known to share it.
    """

    name = "ari"
    summary = "replay; one network a task from each batch, hardened against attacks and fused"
    Settings = ARISettings
    replays = True
    network: GatedNetwork

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: ARISettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["task"] = torch.empty(0, dtype=torch.int64, device=device)  # of each class

    def build(self, classes: int) -> Network:
        generator = torch.Generator().manual_seed(self.seed)
        return GatedNetwork(self.inputs, classes, self.settings.hidden, self.settings.depth, generator)

    def begin(self, X: Tensor, y: Tensor) -> None:
        new = torch.full((self.network.classes - self.old,), self.tasks, device=self.device)
        self.state["task"] = torch.cat([self.state["task"], new])
        self.random = self.device_generator(salt=4)

    def step(self, X: Tensor, y: Tensor) -> None:
        task = self.state["task"][y]
        first, second = self.descents(X, y, task)
        belongs = (task == torch.arange(self.tasks + 1, device=self.device)[:, None]).repeat(1, 2)
        scale = -math.exp(-self.settings.decay * self.tasks) / self.settings.rate
        for layer in layers(self.network):
            given, moves = (torch.cat(rows) for rows in zip(first[layer], second[layer], strict=True))
            layer.weight.grad = scale * fuse(moves, given, belongs)
            layer.bias.grad = scale * fuse(moves, torch.ones_like(given[:, :1]), belongs).squeeze(1)
        self.optimiser.step()

    def descents(self, X: Tensor, y: Tensor, task: Tensor) -> tuple[Descent, Descent]:
        """The two steps of the tasks' networks, on the samples and on the attacked ones; `task` is of each sample.

        A sample goes through the network of its task alone. The tasks' losses are independent, so the gradient of
        their sum holds the gradient of each.
        """
        network, rate, epsilon = self.network, self.settings.rate, self.settings.epsilon
        together = task[:, None] == task
        target = (y[:, None] == torch.arange(network.classes, device=self.device)).float()
        counted = self.counted(task, together)

        def loss(logits: Tensor) -> Tensor:
            return F.binary_cross_entropy_with_logits(logits, target, weight=counted, reduction="sum")

        def descend(X: Tensor, before: Descent) -> Descent:
            given, gave = recorded(network, X, before, together)
            slopes = torch.autograd.grad(loss(gave[network.head]), list(gave.values()))
            return {
                layer: Rows(rows.detach(), -rate * slope)
                for (layer, rows), slope in zip(given.items(), slopes, strict=True)
            }

        with torch.no_grad():
            background = 1 - network.gate(X) ** 2
            noise = torch.empty_like(X).uniform_(-epsilon, epsilon, generator=self.random)
        first = descend(X, {})
        near = (X + noise).requires_grad_()
        _, gave = recorded(network, near, first, together)
        (slope,) = torch.autograd.grad(loss(gave[network.head]), near)
        attack = ((noise + epsilon * slope.sign()) * background).clamp(-epsilon, epsilon)
        return first, descend(X + attack, first)

    def counted(self, task: Tensor, together: Tensor) -> Tensor:
        """What each class of a sample counts: a task's loss is the mean over its samples and the scope's classes."""
        counted = task[:, None] == self.state["task"]
        if self.settings.scope == "seen":
            counted = torch.ones_like(counted)
        return counted / (counted.sum(dim=1, keepdim=True) * together.sum(dim=1, keepdim=True))


def fuse(moves: Tensor, given: Tensor, belongs: Tensor) -> Tensor:
    """Σ w_k Δ_k, with w_k ∝ ‖Δ_k‖₁² + .85 over the tasks k that have samples here and Δ_k = Σ d_j a_jᵀ over these."""
    weight = (sizes(moves, given, belongs) ** 2 + OFFSET) * belongs.any(dim=1)
    of_row = (weight[:, None] * belongs).sum(dim=0) / weight.sum()
    return (of_row[:, None] * moves).T @ given


def sizes(moves: Tensor, given: Tensor, belongs: Tensor) -> Tensor:
    """‖Δ_k‖₁ for each task; each Δ_k is as large as the layer, so that only a few are there at a time.

    On a GPU these are the bulk of a step. They are made in bfloat16 there: rounding cancels in so long a sum.
    """
    kind, exact = (torch.bfloat16 if moves.is_cuda else moves.dtype), moves.dtype
    moves, given = moves.to(kind), given.to(kind)
    chunks = belongs.split(max(1, ELEMENTS // (moves.shape[1] * given.shape[1])))
    products = ((some[:, :, None] * moves).mT @ given for some in chunks)
    return torch.cat([vector_norm(product, ord=1, dim=(1, 2), dtype=exact) for product in products])
