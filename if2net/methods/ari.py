"""ARI (Wang et al., Anti-Retroactive Interference for Lifelong Learning, ECCV 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.methods.network import Network
from if2net.methods.replay import Replay, ReplaySettings
from if2net.methods.settings import TrainerSettings

OFFSET = 0.85  # keeps the tasks' weights from being too unequal

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class ARISettings(ReplaySettings):
    rate: float = 0.1
    epsilon: float = 1 / 255  # how far an input is moved
    decay: float = 0.1  # the original's β/T, .5 over 5 tasks: how many tasks will come is not known here

    def __post_init__(self) -> None:
        TrainerSettings.__post_init__(self)  # its loss goes task by task, so either scope will do


class GatedNetwork(Network):
    """A network that sees a ⊙ x, where the gate is a = σ(Ax + b)."""

    def __init__(self, inputs: int, classes: int, hidden: int, depth: int, generator: torch.Generator) -> None:
        super().__init__(inputs, classes, hidden, depth, generator)
        self.attention = self._linear(inputs, inputs)

    def gate(self, X: Tensor) -> Tensor:
        return torch.sigmoid(self.attention(X))

    def features(self, X: Tensor) -> Tensor:
        return super().features(self.gate(X) * X)


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
    network: GatedNetwork
    noise: torch.Generator

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: ARISettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state["task"] = torch.empty(0, dtype=torch.int64, device=device)  # of each class

    def build(self, classes: int) -> Network:
        generator = torch.Generator().manual_seed(self.seed)
        return GatedNetwork(self.inputs, classes, self.settings.hidden, self.settings.depth, generator)

    def begin(self, X: Tensor, y: Tensor) -> None:
        new = torch.full((self.network.classes - self.old,), self.tasks, device=self.device)
        self.state["task"] = torch.cat([self.state["task"], new])
        self.noise = torch.Generator(self.device).manual_seed(self.generator(salt=4).initial_seed())

    def step(self, X: Tensor, y: Tensor) -> None:
        tasks = torch.arange(self.tasks + 1, device=self.device)[:, None]
        belongs = self.state["task"][y] == tasks
        fused = fuse(self.moves(X, y, belongs, self.state["task"] == tasks), belongs.any(dim=1))
        alpha = math.exp(-self.settings.decay * self.tasks)
        for name, parameter in self.network.named_parameters():
            parameter.grad = fused[name] * (-alpha / self.settings.rate)
        self.optimiser.step()

    def moves(self, X: Tensor, y: Tensor, belongs: Tensor, blocks: Tensor) -> Parameters:
        """How far each task would move the parameters.

        All tasks are worked out at once, as the first dimension of everything; their losses are independent, so the
        gradient of the sum holds the gradient of each. `belongs` says which samples are a task's, `blocks` which
        classes.
        """
        rate, epsilon = self.settings.rate, self.settings.epsilon
        if self.settings.scope == "seen":
            blocks = torch.ones_like(blocks)
        counted = (belongs[:, :, None] & blocks[:, None]).float()
        counted /= counted.sum(dim=(1, 2), keepdim=True).clamp(min=1)
        target = F.one_hot(y, self.network.classes).float().expand_as(counted)

        def loss(parameters: Parameters, X: Tensor) -> Tensor:
            logits = stacked_logits(parameters, X)
            return F.binary_cross_entropy_with_logits(logits, target, weight=counted, reduction="sum")

        def descend(parameters: Parameters, X: Tensor) -> Parameters:
            leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
            slopes = torch.autograd.grad(loss(leaves, X), list(leaves.values()))
            return {name: parameters[name] - rate * slope for name, slope in zip(leaves, slopes, strict=True)}

        with torch.no_grad():
            background = 1 - self.network.gate(X) ** 2
            noise = torch.empty_like(X).uniform_(-epsilon, epsilon, generator=self.noise)
        start = {
            name: value.detach().expand(len(belongs), *value.shape) for name, value in self.network.named_parameters()
        }
        X = X.expand(len(belongs), *X.shape)
        once = descend(start, X)
        near = (X + noise).requires_grad_()
        (slope,) = torch.autograd.grad(loss(once, near), near)
        attack = ((noise + epsilon * slope.sign()) * background).clamp(-epsilon, epsilon)
        twice = descend(once, X + attack)
        return {name: twice[name] - start[name] for name in start}


def stacked_logits(parameters: Parameters, X: Tensor) -> Tensor:
    """What GatedNetwork gives, for a stack of networks at once."""

    def linear(name: str, X: Tensor) -> Tensor:
        return torch.baddbmm(parameters[f"{name}.bias"][:, None], X, parameters[f"{name}.weight"].mT)

    X = torch.sigmoid(linear("attention", X)) * X
    for layer in range(sum(name.startswith("hidden.") for name in parameters) // 2):
        X = torch.relu(linear(f"hidden.{layer}", X))
    return linear("head", X)


def fuse(moves: Parameters, present: Tensor) -> Parameters:
    """Σ w_k Δ_k for each tensor, with w_k ∝ ‖Δ_k‖₁² + .85 over the tasks k that the batch has samples of."""
    fused = {}
    for name, move in moves.items():
        weight = (move.flatten(1).abs().sum(dim=1) ** 2 + OFFSET) * present
        fused[name] = torch.einsum("k,k...->...", weight / weight.sum(), move)
    return fused
