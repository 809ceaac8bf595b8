"""Samples of none of the known classes, recognised from the statistics alone.

The novelty of a sample v is its distance to the known classes, minus half of the score of its winner. Both are
divided by their standard deviation over known samples:

    novelty(v) = d(v)/σ_d − max vβ/(2σ_s)

A score counts only up to a bound above those of known samples (`FAR_ABOVE`).

The distance is the squared Mahalanobis distance to the nearest class mean, minus nearly all of that to the mean of
all samples (the relative Mahalanobis distance of Ren et al., 2021):

    d(v) = min_c (v − μ_c)ᵀΣ⁻¹(v − μ_c) − γ (v − μ)ᵀT⁻¹(v − μ)

Σ is the covariance around the class means and T the one around the mean of all, both with a ridge. The difference
leaves out the many directions that do not tell the classes apart, in which every new sample is far away. γ < 1 keeps
a little of them, for samples that are unlike everything learned.

With u = v − μ, Δ = (μ_c − μ) and the shares π of the classes, T = Σ + ΔΠΔᵀ, so that for z = ΔᵀΣ⁻¹u and
K = ΔᵀΣ⁻¹Δ

    d(v) = (1 − γ) uᵀΣ⁻¹u + γ zᵀ(Π⁻¹ + K)⁻¹z + min_c (K_cc − 2z_c).

`limit` is the novelty that a given share of known samples exceeds. No samples are kept, so it and the standard
deviations come from drawn ones, as the temperature does (see `score_draws.py`). The share is therefore approximate:
results/novelty.py measures it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net import blas
from if2net.decision.ridge import ROUNDINGS, absolute_ridge, mean_diagonal, rounding, solve
from if2net.decision.ridge_choice import ENOUGH_HELD_OUT, is_enough
from if2net.decision.score_draws import draw_scores
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import cholesky, symmetric_product, with_outer
from if2net.errors import InputError, NumericalError

# γ, and the ridge of Σ relative to its mean diagonal. They were chosen on training data: halves of the classes of
# MNIST, FashionMNIST, CIFAR and CUB, and pictures of another kind. A larger γ misses some of the latter, and a
# smaller one similar classes.
GAMMA, RIDGE = 0.98, 1.0
# The weight of the winner's score, chosen with them. With 0 and with 1, more pairs are behind the best other score.
WINNER = 0.5
# A score counts up to this many standard deviations above the mean of known samples: far from all samples, scores
# grow without bound.
FAR_ABOVE = 10
# The degrees of freedom of the drawn samples. With 32, limits for 1, 5 and 10 % were right on average on that data.
TAILS = 32
# Random vectors that estimate a trace. The error is about 1 % at this number, far below the spread of the samples.
PROBES = 64
# A variance below this many roundings of the mean square is rounding.
ROUNDINGS_OF_SQUARES = 100

# V ↦ VB for a fixed matrix B.
Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class RelativeDistance:
    """The distance d to the known classes."""

    root: Tensor  # S × S: B with BBᵀ = Σ⁻¹
    mean: Tensor  # μ
    sides: Tensor  # C × S: ΔᵀB, a row per class
    shrinking: Tensor  # C × C: N with NNᵀ = (Π⁻¹ + K)⁻¹

    @classmethod
    def of(cls, statistics: Statistics) -> RelativeDistance:
        weights, means, scatter = _scatter(statistics)
        alpha, lost = RIDGE * mean_diagonal(scatter), rounding(statistics.G, statistics.G.dtype)
        if alpha < ROUNDINGS * lost:
            # Where the classes are far apart or have one sample each, the scatter is lost in the rounding of G. The
            # rest would differ with the order of the samples, and a ridge of its size would magnify that.
            scatter, alpha = torch.zeros_like(scatter), lost / torch.finfo(scatter.dtype).eps ** 0.5
        alpha = alpha or 1.0
        while (lower := cholesky(scatter, alpha, scatter.dtype)) is None:
            alpha *= 2
        identity = torch.eye(len(lower), dtype=lower.dtype, device=lower.device)
        root = torch.linalg.solve_triangular(lower, identity, upper=False)[: statistics.width, : statistics.width].T
        root = root * (statistics.weight + statistics.nameless_weight) ** 0.5
        mean = means @ weights / weights.sum()
        sides = (means - mean[:, None]).T @ root.double()
        # (Π⁻¹ + K)⁻¹ = √Π (I + √ΠK√Π)⁻¹ √Π. K is singular, and very large where the classes are far apart. The
        # inverse of the sum then has large errors in the null space of K, unlike the eigenvectors.
        shares = (weights / weights.sum()).sqrt()
        values, vectors = blas.eigen(shares[:, None] * (sides @ sides.T) * shares)
        shrinking = shares[:, None] * vectors / (1 + values.clamp(min=0)).sqrt()
        return cls(root, mean, sides, shrinking)

    def value(self, squares: Tensor, z: Tensor, times_shrinking: Product) -> Tensor:
        """Return the distance, given uᵀΣ⁻¹u and z."""
        nearest = (self.sides.square().sum(dim=1) - 2 * z).amin(dim=1)
        return (1 - GAMMA) * squares + GAMMA * times_shrinking(z).square().sum(dim=1) + nearest

    def draw(self, like: Statistics, beta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the distances and the winners' scores of samples that are drawn like those of statistics.

        β has a column for each side.
        """
        # In float64: rounded columns would give z a part outside the range of K, where nothing cancels it.
        root, classes = self.root.double(), len(self.sides)
        scores, labels, squares = draw_scores(beta.double(), like, TAILS, root @ self.sides.T)
        z, winners = scores[:, classes:] - self.sides @ (self.mean @ root), scores[:, :classes].amax(dim=1)
        means = like.Q.double().T / torch.where(like.weights > 0, like.weights, 1).unsqueeze(1)
        between = ((means - self.mean) @ root).square().sum(dim=1)
        squares = _mean_square(root, like) * squares + between[labels]
        return self.value(squares, z, lambda rows: rows @ self.shrinking), winners


@dataclass(frozen=True)
class Novelty:
    """The novelty of samples, as a function of their features V and their scores Vβ."""

    features: slice  # the features that it takes into account
    distance: RelativeDistance  # derived from all samples
    times_root: Product  # the products with its matrices
    times_sides: Product
    times_shrinking: Product
    scales: tuple[float, float]  # 1/σ_d and WINNER/σ_s; the latter is 0 where rounding decides about the scores
    most: float  # the score above which a winner counts no more
    drawn: Tensor  # the novelty of drawn known samples; empty where too few samples are held out

    @classmethod
    def of(
        cls, total: Statistics, held: Statistics, ridge: float, features: slice, product: Callable[[Tensor], Product]
    ) -> Novelty:
        """Derive it from the statistics of some features of all samples, and of the held-out ones among them.

        `ridge` is the relative one with which these features have scores like those of all features. Drawn samples
        resemble the held-out ones, which took no part in the distance and the β. Without enough held-out samples,
        they only give the standard deviations. `product` prepares V ↦ VB for a matrix B.
        """
        enough = is_enough(held) and held.samples < total.samples
        fitting, like = (total.without(held), held) if enough else (total, total)
        Q, weight = fitting.Q[:, fitting.weights > 0], WINNER
        try:
            beta = solve(fitting.G, Q, absolute_ridge(fitting.G, ridge))
        except NumericalError:
            # Rounding decides about small differences between scores, also with the β of all samples. So only the
            # distance counts.
            beta, weight = torch.zeros_like(Q), 0.0
        distances, winners = RelativeDistance.of(fitting).draw(like, beta)
        scales = 1 / _deviation(distances, total.G.dtype), weight / _deviation(winners, total.G.dtype)
        drawn = distances * scales[0] - winners * scales[1] if enough else torch.empty(0)
        distance = RelativeDistance.of(total)
        root, sides = product(distance.root.to(total.G.dtype)), product(distance.sides.T)
        most = float(winners.mean() + FAR_ABOVE * winners.std())
        return cls(features, distance, root, sides, product(distance.shrinking), scales, most, drawn)

    def __call__(self, V: Tensor, scores: Tensor) -> Tensor:
        # In float64 from here, since the terms of the distance nearly cancel where the classes are far apart.
        u = self.times_root(V[:, self.features] - self.distance.mean.to(V.dtype)).double()
        distances = self.distance.value(u.square().sum(dim=1), self.times_sides(u), self.times_shrinking)
        return distances * self.scales[0] - scores.amax(dim=1).clamp(max=self.most) * self.scales[1]

    def limit(self, share: float) -> float:
        """Return the novelty that about this share of known samples exceeds."""
        if not len(self.drawn):
            raise InputError(
                f"At least {ENOUGH_HELD_OUT} samples must be held out to recognise unknown samples; learn more "
                "different samples, or start again with a larger holdout."
            )
        return float(torch.quantile(self.drawn, 1 - share))


def _deviation(values: Tensor, dtype: torch.dtype) -> float:
    """Return the standard deviation of distances or scores, which come from sums in this precision.

    A variance is a difference between two mean squares, of values that are usually about 1. A smaller one than their
    rounding would differ with the order of the samples, and scores that are all alike would decide about the novelty.
    """
    least = (ROUNDINGS_OF_SQUARES * torch.finfo(dtype).eps) ** 0.5
    return max(float(values.std()), least * max(float(values.square().mean().sqrt()), 1.0))


def _scatter(statistics: Statistics) -> tuple[Tensor, Tensor, Tensor]:
    """Return the weights and the means of the classes that have samples, and the scatter around these means."""
    counted = statistics.weights > 0
    weights = statistics.weights[counted]
    means = statistics.Q.double()[:, counted] / weights
    return weights, means, with_outer(statistics.G, means, -weights)


def _mean_square(root: Tensor, statistics: Statistics) -> float:
    """Return the mean of ‖(v − μ_c)B‖² around the class means.

    It is tr(BᵀSB)/n for the scatter S around these means, estimated with random signs z as the mean of ‖Bz‖² under S.
    Around another point, the estimate would be useless: its error is a share of the trace, and the means alone can
    make the trace a thousand times as large.

    >>> statistics = Statistics(2, torch.float64); statistics.grow(1)
    >>> statistics.add(torch.tensor([[103.0, 0.0], [97.0, 0.0]]), torch.tensor([0, 0]))
    >>> round(_mean_square(torch.eye(2, dtype=torch.float64), statistics), 6)
    9.0
    """
    _, _, scatter = _scatter(statistics)
    signs = torch.randint(2, (root.shape[1], PROBES), generator=torch.Generator().manual_seed(0)) * 2 - 1
    probes = root @ signs.to(root)
    squares = (probes * symmetric_product(scatter, probes.to(scatter.dtype))).double().sum() / PROBES
    # The scatter of classes far apart is lost in rounding, and the rest may be negative.
    return max(float(squares), 0.0) / (statistics.weight + statistics.nameless_weight)
