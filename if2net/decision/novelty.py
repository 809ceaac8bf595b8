"""Samples of none of the known classes, recognised from the statistics alone.

The novelty of a sample v has three parts. w is how low the score of its winner is, and r how large its relative
distance to the known classes. Both are in standard deviations over known samples, from their mean. m is its distance
to the nearest class, as a multiple of the mean over known samples:

    novelty(v) = w + r/10 + (r − 1.5)⁺ + 10 (m − 2.5)⁺ r⁺, where x⁺ = max(x, 0)

Samples of similar classes differ from known ones in w. Those of other classes of the same kind also differ in r,
which counts little while it is usual, and fully beyond that. Samples of another kind are remote in all directions;
there m makes r count many times. By itself m adds nothing: some known samples are remote, too.

The distance to the nearest class is the squared Mahalanobis distance to its mean. The relative one is less by that to
the mean of all samples (Ren et al., 2021):

    d(v) = min_c (v − μ_c)ᵀΣ⁻¹(v − μ_c),    relative: d(v) − (v − μ)ᵀT⁻¹(v − μ)

Σ is the covariance around the class means and T the one around the mean of all, both with a ridge. The difference
leaves out the many directions that do not tell the classes apart, in which every new sample is far away. It is
computed without the difference of two large numbers. With u = v − μ, Δ = (μ_c − μ) and the shares π of the classes,
T = Σ + ΔΠΔᵀ, so that for z = ΔᵀΣ⁻¹u and K = ΔᵀΣ⁻¹Δ

    d(v) = uᵀΣ⁻¹u + min_c (K_cc − 2z_c),    relative: zᵀ(Π⁻¹ + K)⁻¹z + min_c (K_cc − 2z_c).

`limit` is the novelty that a given share of known samples exceeds. No samples are kept, so it and the usual values of
the parts come from drawn ones, as the temperature does (see `calibration.py`). The share is therefore approximate:
results/novelty.py measures it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from if2net.decision.calibration import draw_scores
from if2net.decision.ridge import absolute_ridge, factor, mean_diagonal, solve
from if2net.decision.ridge_choice import ENOUGH_HELD_OUT
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric_product, with_outer
from if2net.errors import InputError

# The ridge of Σ relative to its mean diagonal. Smaller ones recognise similar classes less well.
RIDGE = 1.0
# 1/10, 1.5, 10 and 2.5 of the novelty. They and the form were chosen on pairs of training samples: halves of the
# classes of MNIST, FashionMNIST, CIFAR-100 and CUB, and data sets against each other.
USUAL_WEIGHT, UNUSUAL, REMOTE_WEIGHT, REMOTE = 0.1, 1.5, 10.0, 2.5
# The degrees of freedom of the drawn samples. With 32, limits for 1, 5 and 10 % were right on average on that data.
TAILS = 32
# Random vectors that estimate a trace. The error is about 1 % at this number, far below the spread of the samples.
PROBES = 64

# V ↦ VB for a fixed matrix B.
Product = Callable[[Tensor], Tensor]


class Parts(NamedTuple):
    """The score of the winner, the relative distance and the distance to the nearest class of some samples."""

    winner: Tensor
    relative: Tensor
    nearest: Tensor


@dataclass(frozen=True)
class RelativeDistance:
    """The distances to the known classes.

    Attributes
    ----------
    root : Tensor of shape (S, S)
        B with BBᵀ = Σ⁻¹.
    centre : Tensor of shape (S,)
        μB.
    sides : Tensor of shape (C, S)
        ΔᵀB, a row per class.
    shrunk : Tensor of shape (C, C)
        (Π⁻¹ + K)⁻¹.
    """

    root: Tensor
    centre: Tensor
    sides: Tensor
    shrunk: Tensor

    @classmethod
    def of(cls, statistics: Statistics) -> RelativeDistance:
        counted = statistics.weights > 0
        weights = statistics.weights[counted]
        means = statistics.Q.double()[:, counted] / weights
        scatter = with_outer(statistics.G, means, -weights)
        lower = factor(scatter, RIDGE * mean_diagonal(scatter) or 1.0)
        identity = torch.eye(len(lower), dtype=lower.dtype, device=lower.device)
        root = torch.linalg.solve_triangular(lower, identity, upper=False)[: statistics.width, : statistics.width].T
        root = root * (statistics.weight + statistics.nameless_weight) ** 0.5
        mean = means @ weights / weights.sum()
        sides = (means - mean[:, None]).T.to(root.dtype) @ root
        K = sides.double() @ sides.double().T
        shrunk = torch.linalg.inv(torch.diag(weights.sum() / weights) + K)
        return cls(root, mean.to(root.dtype) @ root, sides, shrunk)

    def parts(self, scores: Tensor, squares: Tensor, z: Tensor, times_shrunk: Product) -> Parts:
        """Return the parts of the novelty, given the scores, uᵀΣ⁻¹u and z."""
        nearest = (self.sides.square().sum(dim=1).to(z.dtype) - 2 * z).amin(dim=1)
        return Parts(scores.amax(dim=1), (times_shrunk(z) * z).sum(dim=1) + nearest, squares + nearest)

    def draw(self, like: Statistics, beta: Tensor) -> Parts:
        """Return the parts of samples that are drawn like those of statistics; β has a column for each side."""
        root, centre, sides = self.root.double(), self.centre.double(), self.sides.double()
        scores, labels, squares = draw_scores(beta.double(), like, TAILS, root @ sides.T)
        z = scores[:, len(sides) :] - sides @ centre
        means = like.Q.double().T / torch.where(like.weights > 0, like.weights, 1).unsqueeze(1)
        between = (means @ root - centre).square().sum(dim=1)
        squares = _mean_square(root, like) * squares + between[labels]
        return self.parts(scores[:, : len(sides)], squares, z, lambda rows: rows @ self.shrunk)


@dataclass(frozen=True)
class Usual:
    """The mean and the standard deviation of the parts over known samples."""

    means: tuple[float, float, float]
    deviations: tuple[float, float]

    @classmethod
    def of(cls, known: Parts) -> Usual:
        winner, relative, nearest = (float(part.mean()) for part in known)
        deviations = float(known.winner.std()) or 1.0, float(known.relative.std()) or 1.0
        return cls((winner, relative, nearest or 1.0), deviations)

    def novelty(self, parts: Parts) -> Tensor:
        winner, relative, nearest = self.means
        w, r = (winner - parts.winner) / self.deviations[0], (parts.relative - relative) / self.deviations[1]
        remote = REMOTE_WEIGHT * torch.relu(parts.nearest / nearest - REMOTE) * torch.relu(r)
        return w + USUAL_WEIGHT * r + torch.relu(r - UNUSUAL) + remote


@dataclass(frozen=True)
class Novelty:
    """The novelty of samples, as a function of their features V and their scores Vβ.

    Attributes
    ----------
    features : slice
        The features that it takes into account.
    distance : RelativeDistance
        Derived from all samples.
    times_root, times_sides, times_shrunk : callable
        The products with its matrices.
    usual : Usual
        What the parts of the novelty are compared with.
    drawn : Tensor
        The novelty of drawn known samples; empty where too few samples are held out.
    """

    features: slice
    distance: RelativeDistance
    times_root: Product
    times_sides: Product
    times_shrunk: Product
    usual: Usual
    drawn: Tensor

    @classmethod
    def of(
        cls, total: Statistics, held: Statistics, ridge: float, features: slice, product: Callable[[Tensor], Product]
    ) -> Novelty:
        """Derive it from the statistics of some features of all samples, and of the held-out ones among them.

        `ridge` is the relative one with which these features have scores like those of all features. Drawn samples
        are like the held-out ones, and new to the distance and the β that they meet. Without enough held-out samples,
        they only give the usual values. `product` prepares V ↦ VB for a matrix B.
        """
        enough = held.weight >= ENOUGH_HELD_OUT and held.samples < total.samples
        fitting, like = (total.without(held), held) if enough else (total, total)
        beta = solve(fitting.G, fitting.Q[:, fitting.weights > 0], absolute_ridge(fitting.G, ridge))
        known = RelativeDistance.of(fitting).draw(like, beta)
        usual = Usual.of(known)
        drawn = usual.novelty(known) if enough else torch.empty(0)
        distance, dtype = RelativeDistance.of(total), total.G.dtype
        root, sides, shrunk = (product(part.to(dtype)) for part in (distance.root, distance.sides.T, distance.shrunk))
        return cls(features, distance, root, sides, shrunk, usual, drawn)

    def __call__(self, V: Tensor, scores: Tensor) -> Tensor:
        u = self.times_root(V[:, self.features]) - self.distance.centre.to(V.dtype)
        parts = self.distance.parts(scores, u.square().sum(dim=1), self.times_sides(u), self.times_shrunk)
        return self.usual.novelty(parts)

    def limit(self, share: float) -> float:
        """Return the novelty that about this share of known samples exceeds."""
        if not len(self.drawn):
            raise InputError(
                f"At least {ENOUGH_HELD_OUT} samples must be held out to recognise unknown samples; learn more "
                "samples, or start again with a larger holdout."
            )
        return float(torch.quantile(self.drawn, 1 - share))


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
    counted = statistics.weights > 0
    means = statistics.Q.double()[:, counted] / statistics.weights[counted]
    scatter = with_outer(statistics.G, means, -statistics.weights[counted])
    signs = torch.randint(2, (root.shape[1], PROBES), generator=torch.Generator().manual_seed(0)) * 2 - 1
    probes = root @ signs.to(root)
    squares = (probes * symmetric_product(scatter, probes.to(scatter.dtype))).double().sum() / PROBES
    return float(squares) / (statistics.weight + statistics.nameless_weight)
