"""Samples of none of the known classes, recognised from the statistics alone.

The novelty of a sample v is its leverage in the ridge regression, minus the score of its winner:

    novelty(v) = w·h/d − max vβ, with the leverage h = vᵀ(G + αI)⁻¹v

d is the mean leverage of the held-out samples, so that h/d is about 1 for a known sample, and so is the score of its
winner. A sample far from everything learned has a large leverage; one between the classes has no clear winner.

`limit` is the novelty that a given share of known samples exceeds. No samples are kept, so it comes from drawn ones,
as the temperature does (see `calibration.py`). The share is therefore approximate: results/novelty.py measures it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.calibration import draw_scores
from if2net.decision.ridge import absolute_ridge, factor, solve_by
from if2net.decision.ridge_choice import ENOUGH_HELD_OUT
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric_product
from if2net.errors import InputError

# The weight w of the leverage. With less, samples far from everything learned are missed on training data of
# FashionMNIST, CIFAR-10 and digits; with more, samples of similar classes.
WEIGHT = 0.4
# The degrees of freedom of the drawn samples. With 8, limits for 1, 5 and 10 % were right on average on that data.
TAILS = 8
# Random vectors that estimate a trace. The error is about 1 % at this number, far below the spread of the samples.
PROBES = 64

# V ↦ VB for a fixed matrix B.
Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Novelty:
    """The novelty of samples, as a function of their features V and their scores Vβ.

    Attributes
    ----------
    features : slice
        The features that the leverage takes into account.
    times_root : callable
        V ↦ VB with BBᵀ = (G + αI)⁻¹w/d.
    drawn : Tensor
        The novelty of drawn known samples; empty where too few samples are held out.
    """

    features: slice
    times_root: Product
    drawn: Tensor

    @classmethod
    def of(
        cls, total: Statistics, held: Statistics, ridge: float, features: slice, product: Callable[[Tensor], Product]
    ) -> Novelty:
        """Derive it from the statistics of some features of all samples, and of the held-out ones among them.

        The leverage is that in the regression without the held-out ones. `product` prepares V ↦ VB for a matrix B.
        """
        enough = held.weight >= ENOUGH_HELD_OUT
        fitting = total.without(held) if enough else total
        alpha = absolute_ridge(fitting.G, ridge)
        lower = factor(fitting.G, alpha)
        identity = torch.eye(len(lower), dtype=lower.dtype, device=lower.device)
        root = torch.linalg.solve_triangular(lower, identity, upper=False)[: fitting.width, : fitting.width].T
        root = root * (WEIGHT / (_mean_square(root, held if enough else total) or 1.0)) ** 0.5
        drawn = torch.empty(0)
        if enough:
            scores, _, squares = draw_scores(solve_by(lower, fitting.G, fitting.Q, alpha), held, TAILS)
            drawn = WEIGHT * squares - scores.amax(dim=1)
        return cls(features, product(root.to(fitting.G.dtype)), drawn)

    def __call__(self, V: Tensor, scores: Tensor) -> Tensor:
        return self.times_root(V[:, self.features]).square().sum(dim=1) - scores.amax(dim=1)

    def limit(self, share: float) -> float:
        """Return the novelty that about this share of known samples exceeds."""
        if not len(self.drawn):
            raise InputError(
                f"At least {ENOUGH_HELD_OUT} samples must be held out to recognise unknown samples; learn more "
                "samples, or start again with a larger holdout."
            )
        return float(torch.quantile(self.drawn, 1 - share))


def _mean_square(root: Tensor, held: Statistics) -> float:
    """Return the mean of ‖vB‖², which is tr(BᵀGB)/n, estimated with random signs z as the mean of ‖Bz‖² under G.

    >>> statistics = Statistics(2, torch.float64); statistics.grow(1)
    >>> statistics.add(torch.tensor([[3.0, 0.0], [0.0, 5.0]]), torch.tensor([0, 0]))
    >>> _mean_square(torch.eye(2, dtype=torch.float64), statistics)
    17.0
    """
    signs = torch.randint(2, (root.shape[1], PROBES), generator=torch.Generator().manual_seed(0)) * 2 - 1
    probes = root @ signs.to(root)
    squares = (probes * symmetric_product(held.G, probes.to(held.G.dtype))).double().sum()
    return float(squares) / PROBES / held.weight
