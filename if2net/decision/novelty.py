"""Samples of none of the known classes, recognised from the statistics alone.

The novelty of a sample v is a sum of four parts. Each is divided by its standard deviation over known samples:

    novelty(v) = relative + WHOLE · q + BEYOND · max(0, q − limit of q) − winner
                 − OVERLAP · ((1 − m)/m)² · projection

- `relative` is the squared Mahalanobis distance to the nearest class mean, minus the one to the mean of all samples
  (Ren et al., 2021). The difference leaves out the many directions that do not tell the classes apart, in which every
  new sample is far away.
- q = uᵀΣ⁻¹u is the whole distance to the mean of all samples, u = v − μ. It counts more above a limit that few known
  samples exceed: such samples are unlike everything learned.
- `winner` is the largest score max vβ.
- `projection` is the largest component of u along the direction from μ to a class mean. Its weight depends on m, the
  mean score of the right class: where classes overlap, m is small, and distances tell little.

Σ is the covariance around the class means, with a ridge. The first and the last part need it for the directions of
the class means only, and there the scores have it. With the class means M, the numbers of samples N = diag(n_c) and
A = nΣ + αI, β is (A + MNMᵀ)⁻¹MN = A⁻¹M(N⁻¹ + H)⁻¹ for H = MᵀA⁻¹M, so that

    vᵀA⁻¹M = vβ(N⁻¹ + H)    and    J = Mᵀβ = H(N⁻¹ + H)⁻¹,

which gives H. They have the ridge that was chosen for the scores and use all features, also where q uses a part of
them. With Δ = M − μ, K = ΔᵀΣ⁻¹Δ, z = ΔᵀΣ⁻¹u and the shares π of the classes, T = Σ + ΔΠΔᵀ is the covariance around μ:

    relative(v) = min_c (K_cc − 2z_c) + zᵀ(Π⁻¹ + K)⁻¹z,    projection(v) = max_c z_c/√K_cc.

`limit` is the novelty that a given share of known samples exceeds. No samples are kept, so it and the standard
deviations come from drawn ones, as the temperature does (see `calibration.py`). The share is therefore approximate:
results/novelty.py measures it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.calibration import draw_scores
from if2net.decision.ridge import absolute_ridge, factor, mean_diagonal, solve
from if2net.decision.ridge_choice import ENOUGH_HELD_OUT
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric_product, with_outer
from if2net.errors import InputError

# The weights of the parts, and the ridge of q relative to the mean diagonal of Σ. They were chosen on training data:
# halves of the classes of MNIST, FashionMNIST, CIFAR and CUB, and pictures of another data set.
WHOLE, BEYOND, OVERLAP, RIDGE = 1.1, 1.5, 0.5, 0.03
# The share of drawn samples whose q is above the limit.
FAR = 0.03
# The smallest m. Scores that say less than this about the classes are not worth a larger weight.
LEAST_MEAN = 0.1
# The largest eigenvalue of J. Rounding errors of β would dominate H beyond it.
LARGEST_EIGENVALUE = 1 - 1e-5
# The degrees of freedom of the drawn samples. With 16, limits for 1 and 5 % were nearly right on average on that data
# and on the digits.
TAILS = 16
# Random vectors that estimate a trace. The error is about 1 % at this number, far below the spread of the samples.
PROBES = 64

# V ↦ VB for a fixed matrix B.
Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Discriminants:
    """The directions from the mean of all samples to the class means, as a function of the scores.

    Attributes
    ----------
    slopes : Tensor of shape (C, D)
        z is the scores times `slopes`, plus `offsets`; D is the number of classes with samples.
    offsets : Tensor of shape (D,)
    lengths : Tensor of shape (D,)
        K_cc, the squared lengths of the directions.
    shrunk : Tensor of shape (D, D)
        (Π⁻¹ + K)⁻¹.
    """

    slopes: Tensor
    offsets: Tensor
    lengths: Tensor
    shrunk: Tensor

    @classmethod
    def of(cls, beta: Tensor, means: Tensor, weights: Tensor) -> Discriminants:
        """Derive them from β, the class means M, and the weights of the classes with which β was solved."""
        seen = weights > 0
        weights = weights[seen]
        total, roots = weights.sum(), weights.sqrt()
        J = means[:, seen].double().T @ beta[:, seen].double()
        # √N J/√N is symmetric, with eigenvalues λ = a/(1 + a) for the eigenvalues a of √N H √N.
        symmetric = roots[:, None] * J / roots
        values, vectors = torch.linalg.eigh((symmetric + symmetric.T) / 2)
        values = values.clamp(0, LARGEST_EIGENVALUE)
        H = (vectors * (values / (1 - values))) @ vectors.T / roots / roots[:, None]
        shares = weights / total
        centring = torch.eye(len(weights), dtype=H.dtype, device=H.device) - shares  # M ↦ Δ, from the left
        K = total * centring @ H @ centring.T
        slopes = torch.zeros(beta.shape[1], len(weights), dtype=H.dtype, device=H.device)
        slopes[seen] = total * (torch.diag(1 / weights) + H) @ centring.T
        offsets = -total * centring @ (H @ shares)
        shrunk = torch.linalg.inv(torch.diag(1 / shares) + K)
        return cls(slopes, offsets, K.diagonal().clamp(min=0), shrunk)

    def relative(self, z: Tensor, times_shrunk: Product) -> Tensor:
        return (self.lengths.to(z.dtype) - 2 * z).amin(dim=1) + (times_shrunk(z) * z).sum(dim=1)

    def projection(self, z: Tensor) -> Tensor:
        scales = torch.where(self.lengths > 0, self.lengths.rsqrt(), 0)  # a single class has no direction
        return (z * scales.to(z.dtype)).amax(dim=1)


@dataclass(frozen=True)
class WholeDistance:
    """The distance q to the mean of all samples.

    Attributes
    ----------
    root : Tensor of shape (S, S)
        B with BBᵀ = Σ⁻¹.
    centre : Tensor of shape (S,)
        μB.
    """

    root: Tensor
    centre: Tensor

    @classmethod
    def of(cls, statistics: Statistics) -> WholeDistance:
        counted = statistics.weights > 0
        weights = statistics.weights[counted]
        means = statistics.Q.double()[:, counted] / weights
        scatter = with_outer(statistics.G, means, -weights)
        lower = factor(scatter, RIDGE * mean_diagonal(scatter) or 1.0)
        identity = torch.eye(len(lower), dtype=lower.dtype, device=lower.device)
        root = torch.linalg.solve_triangular(lower, identity, upper=False)[: statistics.width, : statistics.width].T
        root = root * (statistics.weight + statistics.nameless_weight) ** 0.5
        mean = means @ weights / weights.sum()
        return cls(root, mean.to(root.dtype) @ root)

    def draw(self, like: Statistics, labels: Tensor, squares: Tensor) -> Tensor:
        """Return the distances of samples that are drawn like those of statistics, as `draw_scores` does."""
        root = self.root.double()
        means = like.Q.double().T / torch.where(like.weights > 0, like.weights, 1).unsqueeze(1)
        between = (means @ root - self.centre.double()).square().sum(dim=1)
        return _mean_square(root, like) * squares + between[labels]


@dataclass(frozen=True)
class Weights:
    """The weight of each part, divided by its standard deviation over drawn samples, and the limit of q."""

    relative: float
    whole: float
    beyond: float
    winner: float
    projection: float
    limit: float

    @classmethod
    def of(cls, relative: Tensor, whole: Tensor, winner: Tensor, projection: Tensor, mean: float) -> Weights:
        scales = [1 / (float(part.std()) or 1.0) for part in (relative, whole, winner, projection)]
        mean = min(max(mean, LEAST_MEAN), 1.0)
        overlap = OVERLAP * ((1 - mean) / mean) ** 2
        limit = float(torch.quantile(whole, 1 - FAR))
        return cls(scales[0], WHOLE * scales[1], BEYOND * scales[1], scales[2], overlap * scales[3], limit)

    def combine(self, relative: Tensor, whole: Tensor, winner: Tensor, projection: Tensor) -> Tensor:
        known = relative * self.relative - winner * self.winner - projection * self.projection
        return known + whole * self.whole + (whole - self.limit).clamp(min=0) * self.beyond


@dataclass(frozen=True)
class Novelty:
    """The novelty of samples, as a function of their features V and their scores Vβ.

    Attributes
    ----------
    features : slice
        The features that the whole distance takes into account.
    centre : Tensor
        The centre of the whole distance.
    discriminants : Discriminants
        Of the β in use.
    times_root, times_slopes, times_shrunk : callable
        The products with their matrices.
    weights : Weights
    drawn : Tensor
        The novelty of drawn known samples; empty where too few samples are held out.
    """

    features: slice
    centre: Tensor
    discriminants: Discriminants
    times_root: Product
    times_slopes: Product
    times_shrunk: Product
    weights: Weights
    drawn: Tensor

    @classmethod
    def of(
        cls,
        discriminants: Discriminants,
        total: Statistics,
        held: Statistics,
        ridge: float,
        features: slice,
        product: Callable[[Tensor], Product],
        reweighted: Callable[[Statistics], Statistics] = lambda statistics: statistics,
    ) -> Novelty:
        """Derive it from the statistics of some features of all samples, and of the held-out ones among them.

        `ridge` is the relative one with which these features have scores like those of all features. Drawn samples
        resemble the held-out ones, which took no part in the distance and the β of this comparison. Without enough
        held-out samples, they only give the standard deviations. `product` prepares V ↦ VB for a matrix B, and
        `reweighted` gives the classes the weights that they have for the β in use.
        """
        enough = held.weight >= ENOUGH_HELD_OUT and held.samples < total.samples
        fitting, like = (total.without(held), held) if enough else (total, total)
        fitted = reweighted(fitting)
        beta = solve(fitted.G, fitted.Q, absolute_ridge(fitted.G, ridge)).double()
        scores, labels, squares = draw_scores(beta, like, TAILS)
        z = scores @ discriminants.slopes + discriminants.offsets
        parts = (
            discriminants.relative(z, lambda rows: rows @ discriminants.shrunk),
            WholeDistance.of(fitting).draw(like, labels, squares),
            scores.amax(dim=1),
            discriminants.projection(z),
        )
        weights = Weights.of(*parts, mean=float((like.Q.double() * beta).sum() / like.weights.sum()))
        drawn = weights.combine(*parts) if enough else torch.empty(0)
        distance, dtype = WholeDistance.of(total), total.G.dtype
        matrices = (distance.root, discriminants.slopes, discriminants.shrunk)
        root, slopes, shrunk = (product(matrix.to(dtype)) for matrix in matrices)
        return cls(features, distance.centre, discriminants, root, slopes, shrunk, weights, drawn)

    def __call__(self, V: Tensor, scores: Tensor) -> Tensor:
        u = self.times_root(V[:, self.features]) - self.centre.to(V.dtype)
        z = self.times_slopes(scores) + self.discriminants.offsets.to(scores.dtype)
        relative = self.discriminants.relative(z, self.times_shrunk)
        winner, projection = scores.amax(dim=1), self.discriminants.projection(z)
        return self.weights.combine(relative, u.square().sum(dim=1), winner, projection)

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
