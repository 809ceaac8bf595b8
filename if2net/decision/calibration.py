"""The temperature of the probabilities, fitted on held-out statistics, without keeping samples.

The statistics give the mean score of each class and the spread of all scores around these means. Scores drawn from
this model stand in for the held-out samples, and the temperature maximises the likelihood of their true classes,
times a prior: a few held-out samples that happen to be all right, or all wrong, must not determine the temperature on
their own. Two assumptions fill in what the statistics do not contain: the tails are those of Student's t with 4
degrees of freedom, and a score varies most where its class mean is undecided, like a Bernoulli variance m(1 − m).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from if2net import blas
from if2net.decision.golden_section import golden_section
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric_product

DRAWS = 8192
TAILS = 4
STRAY_FLOOR = 0.01
LOWEST, HIGHEST = math.log(1e-3), math.log(1e2)
STEPS_OF_SEARCH = 40
# The prior of log τ: its mean and its standard deviation. It counts as much as a few held-out samples, and little
# against hundreds.
USUAL, STRAYS = math.log(0.15), 1.0


def temperature(beta: Tensor, held: Statistics) -> float:
    """Return the τ of softmax(scores / τ) for this β; the usual one where fewer than two classes are held out."""
    if int((held.weights > 0).sum()) < 2:
        return math.exp(USUAL)
    scores, labels, _ = draw_scores(beta, held)
    weight = held.weight

    def loss(log_temperature: float) -> float:
        """Return the cross-entropy of the held-out samples minus the logarithm of the prior, per sample."""
        error = float(cross_entropy(scores / math.exp(log_temperature), labels))
        return error + ((log_temperature - USUAL) / STRAYS) ** 2 / (2 * weight)

    return math.exp(golden_section(loss, LOWEST, HIGHEST, STEPS_OF_SEARCH))  # there is one minimum in log τ


def draw_scores(
    beta: Tensor, held: Statistics, tails: int = TAILS, beside: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw scores like those of the held-out samples, with their classes and their squared distances, of mean 1.

    `beside` has further columns, which come after those of β. They vary with the scores, and as much more or less
    for each class as the scores do. The draws depend on the order of the classes (see `order_for_draws`).
    """
    both, counts = beta if beside is None else torch.cat([beta, beside], dim=1), held.weights
    share = (counts / counts.sum()).unsqueeze(1)
    # Row k: the mean scores of class k.
    means = (held.Q.double().T @ both.double()) / torch.where(counts > 0, counts, 1).unsqueeze(1)
    second = both.double().T @ symmetric_product(held.G, both).double() / counts.sum()
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
    normal = torch.randn(DRAWS, both.shape[1], dtype=torch.float64, generator=generator)
    squares = (tails - 2) / torch.randn(DRAWS, tails, dtype=torch.float64, generator=generator).square().sum(dim=1)
    heavy = (normal * squares.sqrt().unsqueeze(1)).to(both.device)
    labels = labels.to(both.device)
    return means[labels] + heavy @ root.T * factors[labels], labels, squares.to(both.device)
