"""Scores drawn like those of the held-out samples, from their statistics alone.

The statistics give the mean score of each class and the spread of all scores around these means. Two assumptions fill
in what they do not contain: the tails are those of Student's t, and a score varies most where its class mean is
undecided, like a Bernoulli variance m(1 − m).
"""

from __future__ import annotations

import torch
from torch import Tensor

from if2net import blas
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric_product

DRAWS = 8192
# The degrees of freedom of Student's t.
TAILS = 4
# Added to m(1 − m), so that every score varies.
STRAY_FLOOR = 0.01


def draw_scores(
    beta: Tensor, held: Statistics, tails: int = TAILS, beside: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw scores like those of the held-out samples, with their classes and their squared distances, of mean 1.

    `beside` has further columns, which come after those of β. They vary with the scores, and as much more or less
    for each class as the scores do. The draws depend on the order of the classes (see `order_for_draws`).
    """
    columns, weights = beta if beside is None else torch.cat([beta, beside], dim=1), held.weights
    share = (weights / weights.sum()).unsqueeze(1)
    # Row k: the mean scores of class k.
    means = (held.Q.double().T @ columns.double()) / torch.where(weights > 0, weights, 1).unsqueeze(1)
    second = columns.double().T @ symmetric_product(held.G, columns).double() / weights.sum()
    # Of the nameless samples, G has the scatter, which is part of the spread.
    spread = (second - (means * share).T @ means) * (held.weight / (held.weight + held.nameless_weight))
    values, vectors = blas.eigen((spread + spread.T) / 2)
    # The symmetric root: eigenvectors of equal eigenvalues would change with the rounding.
    root = vectors * values.clamp(min=0).sqrt() @ vectors.T
    decided = means[:, : beta.shape[1]].abs().clamp(max=1)
    undecided = decided * (1 - decided) + STRAY_FLOOR
    factors = (undecided / (share * undecided).sum(dim=0)).sqrt()
    factors = factors if beside is None else torch.cat([factors, factors], dim=1)

    generator = torch.Generator().manual_seed(0)
    labels = torch.multinomial(share.flatten().cpu(), DRAWS, replacement=True, generator=generator)
    normal = torch.randn(DRAWS, columns.shape[1], dtype=torch.float64, generator=generator)
    squares = (tails - 2) / torch.randn(DRAWS, tails, dtype=torch.float64, generator=generator).square().sum(dim=1)
    heavy = (normal * squares.sqrt().unsqueeze(1)).to(columns.device)
    labels = labels.to(columns.device)
    return means[labels] + heavy @ root.T * factors[labels], labels, squares.to(columns.device)
