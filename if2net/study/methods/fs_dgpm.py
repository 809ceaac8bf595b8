"""FS-DGPM: flattening sharpness for dynamic gradient projection memory (Deng et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.utils import clip_grad_norm_

from if2net.study.methods.layers import gradient, joined, layers, recorded, set_gradient, with_ones
from if2net.study.methods.replay import Replay, ReplaySettings

LARGEST = 2.0  # gradients are cut to this
CHUNKS = 2  # ascents a step
TEMPERATURE = 10.0


@dataclass(frozen=True)
class FSDGPMSettings(ReplaySettings):
    """The authors' values for permuted MNIST."""

    epochs: int = 10  # off the old subspace steps are short, and it takes more of them
    ascent: float = 0.05  # η₁: how far the weights climb before the loss is taken
    importance_rate: float = 0.01  # η₂
    energy: float = 0.99  # the share of the old inputs' energy that a layer's basis holds
    energy_growth: float = 0.0005  # added with each task
    basis_samples: int = 300


class FSDGPM(Replay):
    """Replay, steps off the subspace of the old inputs, and weights that lie flat inside it.

    U spans the inputs of a layer on the memory. The loss is taken where the weights have climbed along their
    gradient within U (anywhere in the first task), and its gradient g becomes g − gUΛUᵀ, with Λ = σ(10λ̃) the
    importance of each direction, learned by the same loss. λ̃ goes on from step to step; the authors' optimiser
    loses hold of it. A projected head could not learn new classes, so the head is never projected. Biases take part
    as weights of a constant input, and the memory is shared evenly between classes, not a reservoir.
    """

    name = "fs-dgpm"
    summary = "replay, with steps off the old inputs' subspace and flat minima inside it"
    Settings = FSDGPMSettings
    replays = True

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.random = self.device_generator(salt=4)
        # Made from the memory and the network, so there is nothing to keep between tasks.
        self.bases = self._bases() if len(self.memory[1]) else []
        self.importances = [torch.ones(U.shape[1], device=self.device, requires_grad=True) for U in self.bases]
        if self.bases:
            self.importance_optimiser = torch.optim.SGD(
                self.importances, lr=self.settings.importance_rate, momentum=self.settings.momentum
            )

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return X, y

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """The mean loss on the batch and as many exemplars, after each of the ascents along chunks of the batch."""
        both_X, both_y = self._with_exemplars(X, y)
        weights: dict[str, Tensor] = dict(self.network.named_parameters())
        losses = []
        for chunk_X, chunk_y in zip(X.chunk(CHUNKS), y.chunk(CHUNKS), strict=True):
            weights = self._climb(weights, chunk_X, chunk_y)
            losses.append(self.cross_entropy(functional_call(self.network, weights, (both_X,)), both_y))
        return torch.stack(losses).mean()

    @torch.no_grad()
    def before_step(self, X: Tensor, y: Tensor) -> None:
        clip_grad_norm_(self.network.parameters(), LARGEST)
        if not self.bases:
            return
        clip_grad_norm_(self.importances, LARGEST)
        self.importance_optimiser.step()
        self.importance_optimiser.zero_grad()
        for place, layer in enumerate(layers(self.network)[: len(self.bases)]):
            g = gradient(layer)
            set_gradient(layer, g - self._inside(place, g))

    def _climb(self, weights: dict[str, Tensor], X: Tensor, y: Tensor) -> dict[str, Tensor]:
        """w + η₁ĝUΛUᵀ. ĝ is taken as constant (first order), so the loss then reaches λ̃ through Λ alone."""
        here = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
        loss = self.cross_entropy(functional_call(self.network, here, (X,)), y)
        gradients = torch.autograd.grad(loss, list(here.values()))
        higher, names = {}, list(weights)
        for place, (weight, bias) in enumerate(zip(names[::2], names[1::2], strict=True)):
            up = self._inside(place, joined(*gradients[2 * place : 2 * place + 2])).clamp(-LARGEST, LARGEST)
            higher[weight] = weights[weight] + self.settings.ascent * up[:, :-1]
            higher[bias] = weights[bias] + self.settings.ascent * up[:, -1]
        return higher

    def _inside(self, place: int, g: Tensor) -> Tensor:
        """gUΛUᵀ; g itself where a layer has no basis."""
        if place >= len(self.bases):
            return g
        U, importance = self.bases[place], torch.sigmoid(TEMPERATURE * self.importances[place])
        return (g @ U * importance) @ U.T

    def _with_exemplars(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        old_X, old_y = self.memory
        if not len(old_y):
            return X, y
        drawn = torch.randint(len(old_y), (len(y),), generator=self.random, device=self.device)
        return torch.cat([X, old_X[drawn]]), torch.cat([y, old_y[drawn]])

    @torch.no_grad()
    def _bases(self) -> list[Tensor]:
        """For each hidden layer, the fewest principal directions of its inputs that hold enough of their energy."""
        X, _ = self.memory
        order = torch.randperm(len(X), generator=self.random, device=self.device)
        drawn = order[: self.settings.basis_samples]
        inputs = with_ones(recorded(self.network, X[drawn])[0])
        enough = self.settings.energy + self.settings.energy_growth * (self.tasks - 1)
        return [basis(rows, enough) for rows in inputs[:-1]]


def basis(rows: Tensor, enough: float) -> Tensor:
    _, sizes, directions = torch.linalg.svd(rows, full_matrices=False)
    energy = sizes.square().cumsum(dim=0)
    return directions[: int((energy < enough * energy[-1]).sum()) + 1].T
