"""FeCAM: Mahalanobis distance by a covariance of each class's own (Goswami et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from if2net.decision.statistics import Statistics
from if2net.study.methods.discriminants import (
    Linear,
    class_means,
    correlation,
    mahalanobis,
    shrunk,
    whitening,
    within_covariance,
)
from if2net.study.methods.statistical import Statistical


@dataclass(frozen=True)
class FeCAMSettings:
    """The authors' values for many samples a class."""

    diagonal: float = 1.0  # γ₁ of the shrinkage
    off_diagonal: float = 1.0  # γ₂
    power: float = 0.5  # λ of Tukey's transform; only for inputs that are never negative


class FeCAM(Statistical):
    """The nearest class mean by a distance that each class shapes: its shrunk covariance, made a correlation.

    As in the authors' code, features and means have length 1 when their distance is taken. Departures: the mean is
    the one of the transformed features, not the transform of the mean; the covariances count from the first task on.
    Inputs that are never negative in the first task are taken as they are, as features behind a ReLU would be, and
    go through Tukey's transform; others are standardised and do not. There is an S × S matrix for each class.
    """

    name = "fecam"
    summary = "Mahalanobis distance to class means; keeps a covariance a class"
    Settings = FeCAMSettings

    def start(self, X: Tensor) -> None:
        nonnegative = bool((X >= 0).all())
        if nonnegative:
            self.encoder.config = replace(self.encoder.config, standardise="none")
        super().start(X)
        power = self.settings.power if nonnegative else 1.0
        self.state["power"] = torch.tensor([power], dtype=torch.float64, device=self.device)

    def features(self, X: Tensor) -> Tensor:
        """Tukey's transform v^λ; with its sign, should a later task bring the first negative numbers."""
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
            return statistics.G  # a class that has not come yet; nothing is ever assigned to it
        covariance = within_covariance(statistics)
        return whitening(correlation(shrunk(covariance, self.settings.diagonal, self.settings.off_diagonal)))
