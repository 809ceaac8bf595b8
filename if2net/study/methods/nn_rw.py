"""NN-RW: a network with random weights, the Broad Learning System (Chen and Liu, 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.statistics import Statistics
from if2net.encoder.blocks import Blocks
from if2net.encoder.sparse import TweakStatistics, tweak
from if2net.study.methods.common.method import Costs, Method, bytes_of

BIAS = 0.1  # the original's constant column beside the inputs and beside the feature nodes
SMALLEST_RIDGE = 1e-12  # times the mean diagonal of AᵀA; a smaller ridge is lost in the rounding of float64


@dataclass(frozen=True)
class BroadLearningSettings:
    windows: int = 10  # of feature nodes
    nodes: int = 10  # per window
    enhancement: int = 1000  # enhancement nodes; the original uses 11,000 for MNIST
    strength: float = 1e-3  # λ of the sparse features
    shrinkage: float = 0.8  # s of the enhancement nodes
    ridge: float = 2.0**-30  # c of the read-out


class BroadLearning(Method):
    """Fit sparse random features Z, enhancement nodes H on top of them, and a ridge read-out of both to each task.

    The loss is ‖[Z, H]β − Y‖² + c‖β‖², solved in `_read_out`. The fit is kept until the next task overwrites it;
    accumulating the statistics of all tasks would be a different method, an analytic continual learner. Departures:
    the sparse features are solved to their optimum instead of by 50 steps of ADMM, and c is raised if it is too
    small for float64.
    """

    name = "nn-rw"
    summary = "random features and a ridge read-out (Broad Learning System), refitted to each task"
    Settings = BroadLearningSettings

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: BroadLearningSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state: dict[str, Tensor] = {}

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        samples, labels = self._scaled(X), torch.from_numpy(y).to(self.device)
        generator = torch.Generator().manual_seed(self.seed * 1009 + self.tasks)
        Z = self._fit_features(samples, generator)
        self._fit_enhancement(Z, generator)
        statistics = Statistics(Z.shape[1] + self.settings.enhancement, torch.float64, self.device)
        statistics.grow(max(int(labels.max()) + 1, self.classes))
        statistics.add(self._respond(samples), labels)
        self.state["beta"] = self._read_out(statistics)
        self.tasks += 1

    @property
    def classes(self) -> int:
        return self.state["beta"].shape[1] if self.tasks else 0

    def class_scores(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> Tensor:
        return torch.cat([self._respond(part) @ self.state["beta"] for part in self._scaled(X).split(4096)])

    def tensors(self) -> dict[str, Tensor]:
        return self.state

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.state = {name: value.to(self.device) for name, value in tensors.items()}

    def costs(self) -> Costs:
        return Costs(bytes_of(self.state), 0, sum(tensor.numel() for tensor in self.state.values()))

    def _fit_features(self, X: Tensor, generator: torch.Generator) -> Tensor:
        """Z = XVᵀ, where V = argmin ‖AV − X‖² + λ‖V‖₁ for each window and A holds random responses to X."""
        blocks = Blocks(self.settings.windows, self.settings.nodes)
        random = torch.randn(X.shape[1], blocks.width, generator=generator, dtype=torch.float64).to(self.device)
        low, spread = _range(X @ random)
        statistics = TweakStatistics(blocks, X.shape[1], self.device)
        statistics.add((X @ random - low) / spread, X)
        # `tweak` halves the squares and averages them over the samples, so λ is scaled in the same way.
        weights = tweak(statistics, self.settings.strength / (2 * len(X)))
        low, spread = _range(X @ weights)
        self.state |= {"features": weights, "low": low, "spread": spread}
        return self._features(X)

    def _fit_enhancement(self, Z: Tensor, generator: torch.Generator) -> None:
        """Draw W_h with orthonormal rows, or columns if they are fewer, and scale its largest response to s."""
        shape = sorted((Z.shape[1] + 1, self.settings.enhancement), reverse=True)
        orthonormal = torch.linalg.qr(torch.randn(shape, generator=generator, dtype=torch.float64)).Q
        weights = (orthonormal if shape[0] == Z.shape[1] + 1 else orthonormal.T.contiguous()).to(self.device)
        self.state["enhancement"] = weights * (self.settings.shrinkage / (_with_bias(Z) @ weights).max())

    def _read_out(self, statistics: Statistics) -> Tensor:
        """β = (AᵀA + cI)⁻¹AᵀY."""
        alpha = max(self.settings.ridge, absolute_ridge(statistics.G, SMALLEST_RIDGE))
        return solve(statistics.G, statistics.Q, alpha)

    def _respond(self, X: Tensor) -> Tensor:
        """A = [Z, H] with H = tanh([Z, 0.1]W_h)."""
        Z = self._features(X)
        return torch.cat([Z, torch.tanh(_with_bias(Z) @ self.state["enhancement"])], dim=1)

    def _features(self, X: Tensor) -> Tensor:
        return (X @ self.state["features"] - self.state["low"]) / self.state["spread"]

    def _scaled(self, X: np.ndarray) -> Tensor:
        """Scale each sample to mean 0 and standard deviation 1, and append the bias column."""
        samples = self._samples(X, np.float64)
        centred = samples - samples.mean(dim=1, keepdim=True)
        return _with_bias(centred / centred.std(dim=1, keepdim=True).clamp(min=1e-12))


def _range(responses: Tensor) -> tuple[Tensor, Tensor]:
    """The minimum and the range of each column. The range of a constant column is set to 1."""
    low, high = responses.aminmax(dim=0)
    return low, torch.where(high > low, high - low, 1.0)


def _with_bias(X: Tensor) -> Tensor:
    return torch.cat([X, torch.full_like(X[:, :1], BIAS)], dim=1)
