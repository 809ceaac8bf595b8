"""Classifiers by class means and covariances, computed from the statistics n, G and Q."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric
from if2net.errors import NumericalError

# The weights (S × C) and offsets (C) of linear scores Vw + b.
Linear = tuple[Tensor, Tensor]


def class_means(statistics: Statistics) -> Tensor:
    """μ_k = Q_k / n_k, one row per class; zeros for a class without samples.

    >>> statistics = Statistics(width=2)
    >>> statistics.grow(2)
    >>> statistics.add(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 1]))
    >>> class_means(statistics).tolist()
    [[0.0, 0.0], [2.0, 3.0]]
    """
    return statistics.Q.T / statistics.counts.clamp(min=1).unsqueeze(1)


def within_covariance(statistics: Statistics) -> Tensor:
    """Σ = (G − Σ_k n_k μ_k μ_kᵀ) / n, the covariance of the samples around their class means.

    >>> statistics = Statistics(width=1)
    >>> statistics.grow(2)
    >>> statistics.add(torch.tensor([[0.0], [2.0], [10.0], [12.0]]), torch.tensor([0, 0, 1, 1]))
    >>> within_covariance(statistics).item()
    1.0
    """
    between = statistics.Q @ class_means(statistics)
    return (symmetric(statistics.G) - between) / max(statistics.samples, 1)


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
