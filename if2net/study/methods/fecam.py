"""FeCAM: Mahalanobis distances with one covariance per class (Goswami et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from if2net.decision.statistics import Statistics
from if2net.errors import NumericalError
from if2net.study.methods.common.moments import class_means, within_covariance
from if2net.study.methods.common.statistical import Linear, Statistical, StatisticalSettings


@dataclass(frozen=True)
class FeCAMSettings(StatisticalSettings):
    """The authors' values for many samples per class."""

    diagonal: float = 1.0  # γ₁ of the shrinkage
    off_diagonal: float = 1.0  # γ₂
    power: float = 0.5  # λ of Tukey's transform; used only for inputs that are never negative


class FeCAM(Statistical):
    """Assign each sample to the nearest class mean, by the Mahalanobis distance of each class.

    The distance uses the correlation matrix of the shrunk class covariance (`_whitening`, `mahalanobis`), and an
    S × S matrix is kept per class. As in the authors' code, features and means are scaled to length 1. Departures:
    the mean is that of the transformed features, not the transform of the mean; the covariances of all tasks are
    used, including the first. If the inputs of the first task are never negative, as after a ReLU, `standardise=auto`
    means Tukey's transform; otherwise they are standardised instead.
    """

    name = "fecam"
    summary = "Mahalanobis distance to class means; keeps one covariance per class"
    Settings = FeCAMSettings

    def start(self, X: Tensor) -> None:
        nonnegative = self.settings.standardise == "auto" and bool((X >= 0).all())
        if nonnegative:
            self.encoder.config = replace(self.encoder.config, standardise="none")
        super().start(X)
        power = self.settings.power if nonnegative else 1.0
        self.state["power"] = torch.tensor([power], dtype=torch.float64, device=self.device)

    def features(self, X: Tensor) -> Tensor:
        """Tukey's transform v^λ. The sign is kept, since a later task may bring the first negative numbers."""
        V = super().features(X).double()
        return V.sign() * V.abs() ** self.state["power"]

    def grow(self, classes: int) -> None:
        for _ in range(len(self.statistics), classes):
            self.statistics.append(self.empty())
            self.statistics[-1].grow(1)

    def add(self, V: Tensor, y: Tensor) -> None:
        for label in y.unique().tolist():
            own = y == label
            self.statistics[label].add(V[own], torch.zeros_like(y[own]))

    def classifier(self) -> Linear:
        """The means, C × S, and the matrices that whiten each class, C × S × S."""
        means = torch.cat([class_means(part) for part in self.statistics])
        return normalize(means), torch.stack([self._whitening(part) for part in self.statistics])

    def scores(self, V: Tensor) -> Tensor:
        V = normalize(V)
        return torch.stack([-mahalanobis(V, mean, A) for mean, A in zip(*self.solved, strict=True)], dim=1)

    def _whitening(self, statistics: Statistics) -> Tensor:
        if statistics.samples == 0:
            return statistics.G  # a class without samples, which is never predicted
        covariance = within_covariance(statistics)
        return whitening(correlation(shrunk(covariance, self.settings.diagonal, self.settings.off_diagonal)))


def shrunk(covariance: Tensor, diagonal: float, off_diagonal: float) -> Tensor:
    """Σ + γ₁d̄I + γ₂ō(J − I), where d̄ is the mean on the diagonal, ō the mean off it, and J is all ones.

    The result is positive semidefinite if γ₁ ≥ γ₂. The mean ō includes the zeros of constant features; without them
    ō could exceed d̄, and the result could be indefinite.

    >>> shrunk(torch.tensor([[2.0, 1.0], [1.0, 4.0]]), diagonal=1.0, off_diagonal=0.5)
    tensor([[5.0000, 1.5000],
            [1.5000, 7.0000]])
    """
    size, trace = len(covariance), covariance.diagonal().sum()
    off_mean = off_diagonal * (covariance.sum() - trace) / max(size * (size - 1), 1)
    result = covariance + off_mean
    result.diagonal().add_(diagonal * trace / size - off_mean)
    return result


def correlation(covariance: Tensor) -> Tensor:
    """Σ_ij / (σ_i σ_j), which makes the distances of classes with different variances comparable.

    A constant feature, as in a class with a single sample, is correlated only with itself.

    >>> correlation(torch.tensor([[4.0, 1.0], [1.0, 1.0]]))
    tensor([[1.0000, 0.5000],
            [0.5000, 1.0000]])
    """
    spread = covariance.diagonal().sqrt()
    spread = torch.where(spread > 0, spread, 1.0)
    return (covariance / torch.outer(spread, spread)).fill_diagonal_(1.0)


def whitening(covariance: Tensor) -> Tensor:
    """The inverse A of the Cholesky factor, so that AᵀA = Σ⁻¹.

    >>> whitening(torch.tensor([[4.0]]))
    tensor([[0.5000]])
    """
    lower, failed = torch.linalg.cholesky_ex(covariance)
    if failed.item() or not bool(torch.isfinite(lower.diagonal()).all()):
        raise NumericalError(
            "The covariance of a class is not positive definite, so it defines no distance; set a larger `diagonal` "
            "or a smaller `off_diagonal`."
        )
    identity = torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
    return torch.linalg.solve_triangular(lower, identity, upper=False)


def mahalanobis(V: Tensor, mean: Tensor, A: Tensor) -> Tensor:
    """(v − μ)ᵀΣ⁻¹(v − μ) = ‖A(v − μ)‖² for each row v of V.

    >>> mahalanobis(torch.tensor([[5.0]]), torch.tensor([1.0]), whitening(torch.tensor([[4.0]])))
    tensor([4.])
    """
    return ((V - mean) @ A.T).square().sum(dim=1)
