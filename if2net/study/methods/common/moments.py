"""The means of the classes and the covariance around them, from statistics."""

from __future__ import annotations

from torch import Tensor

from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric


def class_means(statistics: Statistics) -> Tensor:
    """μ_k = Q_k / n_k, one row per class; zeros for a class without samples.

    >>> import torch
    >>> statistics = Statistics(width=2)
    >>> statistics.grow(2)
    >>> statistics.add(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 1]))
    >>> class_means(statistics).tolist()
    [[0.0, 0.0], [2.0, 3.0]]
    """
    return statistics.Q.T / statistics.counts.clamp(min=1).unsqueeze(1)


def within_covariance(statistics: Statistics) -> Tensor:
    """Σ = (G − Σ_k n_k μ_k μ_kᵀ) / n, the covariance of the samples around their class means.

    >>> import torch
    >>> statistics = Statistics(width=1)
    >>> statistics.grow(2)
    >>> statistics.add(torch.tensor([[0.0], [2.0], [10.0], [12.0]]), torch.tensor([0, 0, 1, 1]))
    >>> within_covariance(statistics).item()
    1.0
    """
    between = statistics.Q @ class_means(statistics)
    return (symmetric(statistics.G) - between) / max(statistics.samples, 1)
