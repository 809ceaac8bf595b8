"""FeCAM: Mahalanobis distances with one covariance per class (Goswami et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from if2net.decision.statistics import Statistics
from if2net.study.methods.common.discriminants import (
    Linear,
    class_means,
    correlation,
    mahalanobis,
    shrunk,
    whitening,
    within_covariance,
)
from if2net.study.methods.common.statistical import Statistical, StatisticalSettings


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
