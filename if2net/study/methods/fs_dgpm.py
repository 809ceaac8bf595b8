"""FS-DGPM: flattening sharpness for dynamic gradient projection memory (Deng et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from if2net.study.methods.common.network import (
    Weights,
    append_ones,
    gradient,
    layer_weights,
    linear_layers,
    run_layers,
    run_weights,
    set_gradient,
)
from if2net.study.methods.common.replay import Replay, ReplaySettings
from if2net.study.methods.common.sgd import SGD

LARGEST = 2.0  # gradients are clipped to this
CHUNKS = 2  # ascents per step
TEMPERATURE = 10.0


@dataclass(frozen=True)
class FSDGPMSettings(ReplaySettings):
    """The authors' values for permuted MNIST."""

    epochs: int = 10  # steps outside the old subspace are short, so more of them are needed
    ascent: float = 0.05  # η₁: the step size of the ascents before the loss is evaluated
    importance_rate: float = 0.01  # η₂: the learning rate of λ̃
    energy: float = 0.99  # the share of the old inputs' energy in the basis of a layer
    energy_growth: float = 0.0005  # added with each task
    basis_samples: int = 300


class FSDGPM(Replay):
    """Replay exemplars, move outside the subspace of the old inputs, and flatten the loss inside it.

    U spans the inputs of a layer on the memory. The loss is evaluated after an ascent along its gradient inside U
    (in the first task, in all directions), and its gradient g becomes g − gUΛUᵀ. The importance Λ = σ(10λ̃) of each
    direction is learned from the same loss. Exemplars are kept between tasks; U and λ̃ are rebuilt at each task.
    Departures: λ̃ keeps its value from step to step, where the authors' optimiser holds stale tensors; the head is
    not projected, since it could not learn new classes otherwise; biases count as weights of a constant input; the
    memory is divided evenly among classes instead of a reservoir.
    """

    name = "fs-dgpm"
    summary = "replay, steps outside the old inputs' subspace, and flat minima inside it"
    Settings = FSDGPMSettings
    graph_safe = True

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.random = self.device_generator(salt=4)
        # The bases follow from the memory and the network, so they are not part of the state.
        self.bases = self._bases() if len(self.memory[1]) else []
        self.importances = [torch.ones(U.shape[1], device=self.device, requires_grad=True) for U in self.bases]
        if self.bases:
            self.importance_optimiser = SGD(self.importances, self.settings.importance_rate, self.settings.momentum)

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return X, y

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """The mean over j of CE(batch ∪ exemplars; w_j), where w_j is w after ascents along the first j chunks."""
        both_X, both_y = self._with_exemplars(X, y)
        weights = layer_weights(self.network)
        losses = []
        for chunk_X, chunk_y in zip(X.chunk(CHUNKS), y.chunk(CHUNKS), strict=True):
            weights = self._climb(weights, chunk_X, chunk_y)
            losses.append(self.cross_entropy(run_weights(weights, both_X)[1][-1], both_y))
        return torch.stack(losses).mean()

    @torch.no_grad()
    def before_step(self, X: Tensor, y: Tensor) -> None:
        """Update λ̃, then g ← g − gUΛUᵀ for each hidden layer."""
        clip_grad_norm_(self.network.parameters(), LARGEST)
        if not self.bases:
            return
        clip_grad_norm_(self.importances, LARGEST)
        self.importance_optimiser.step()
        self.importance_optimiser.zero_grad()
        for place, layer in enumerate(linear_layers(self.network)[: len(self.bases)]):
            g = gradient(layer)
            set_gradient(layer, g - self._inside(place, g))

    def _climb(self, weights: Weights, X: Tensor, y: Tensor) -> Weights:
        """w + η₁ĝUΛUᵀ with a constant ĝ (first order), so that the loss depends on λ̃ through Λ alone.

        ĝ is δᵀA, where A are the inputs of a layer and δ the gradient of its output. A chunk has few samples, so
        AUΛUᵀ takes less time than ĝUΛUᵀ.
        """
        here = [(weight.detach(), bias.detach().requires_grad_()) for weight, bias in weights]
        inputs, outputs = run_weights(here, X)
        slopes = torch.autograd.grad(self.cross_entropy(outputs[-1], y), outputs)
        higher = []
        for place, ((weight, bias), rows, slope) in enumerate(zip(weights, append_ones(inputs), slopes, strict=True)):
            up = (slope.T @ self._inside(place, rows)).clamp(-LARGEST, LARGEST)
            higher.append((weight + self.settings.ascent * up[:, :-1], bias + self.settings.ascent * up[:, -1]))
        return higher

    def _inside(self, place: int, rows: Tensor) -> Tensor:
        """The rows times UΛUᵀ, or the rows themselves for a layer without a basis."""
        if place >= len(self.bases):
            return rows
        U, importance = self.bases[place], torch.sigmoid(TEMPERATURE * self.importances[place])
        return (rows @ U * importance) @ U.T

    def _with_exemplars(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        old_X, old_y = self.memory
        if not len(old_y):
            return X, y
        drawn = torch.randint(len(old_y), (len(y),), generator=self.random, device=self.device)
        return torch.cat([X, old_X[drawn]]), torch.cat([y, old_y[drawn]])

    @torch.no_grad()
    def _bases(self) -> list[Tensor]:
        """A basis of the inputs of each hidden layer on the memory."""
        X, _ = self.memory
        order = torch.randperm(len(X), generator=self.random, device=self.device)
        drawn = order[: self.settings.basis_samples]
        inputs = append_ones(run_layers(self.network, X[drawn])[0])
        enough = self.settings.energy + self.settings.energy_growth * (self.tasks - 1)
        return [basis(rows, enough) for rows in inputs[:-1]]


def basis(rows: Tensor, enough: float) -> Tensor:
    """The fewest principal directions of the rows that hold the share `enough` of their energy, as columns."""
    _, sizes, directions = torch.linalg.svd(rows, full_matrices=False)
    energy = sizes.square().cumsum(dim=0)
    return directions[: int((energy < enough * energy[-1]).sum()) + 1].T
