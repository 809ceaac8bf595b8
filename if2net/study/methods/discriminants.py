"""Classifiers from class means and covariances, which are functions of the statistics n, G and Q."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.decision.ridge import solve
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric
from if2net.errors import NumericalError

# Weights, S × C, and offsets of linear scores Vw + b.
Linear = tuple[Tensor, Tensor]


def class_means(statistics: Statistics) -> Tensor:
    """μ_k = Q_k / n_k, one row a class; zeros for a class without samples.

    >>> statistics = Statistics(width=2)
    >>> statistics.grow(2)
    >>> statistics.add(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 1]))
    >>> class_means(statistics).tolist()
    [[0.0, 0.0], [2.0, 3.0]]
    """
    return statistics.Q.T / statistics.counts.clamp(min=1).unsqueeze(1)


def within_covariance(statistics: Statistics) -> Tensor:
    """Σ = (G − Σ_k n_k μ_k μ_kᵀ) / n, the spread of the samples around their own class mean.

    >>> statistics = Statistics(width=1)
    >>> statistics.grow(2)
    >>> statistics.add(torch.tensor([[0.0], [2.0], [10.0], [12.0]]), torch.tensor([0, 0, 1, 1]))
    >>> within_covariance(statistics).item()
    1.0
    """
    between = statistics.Q @ class_means(statistics)
    return (symmetric(statistics.G) - between) / max(statistics.samples, 1)


def nearest_mean(means: Tensor) -> Linear:
    """argmin_k ‖v − μ_k‖² = argmax_k vᵀμ_k − ‖μ_k‖²/2.

    >>> weights, offsets = nearest_mean(torch.tensor([[0.0], [4.0]]))
    >>> (torch.tensor([[1.0], [3.0]]) @ weights + offsets).argmax(dim=1).tolist()
    [0, 1]
    """
    return means.T, -means.square().sum(dim=1) / 2


def linear_discriminant(means: Tensor, covariance: Tensor, shrinkage: float) -> Linear:
    """w_k = Σ_ε⁻¹μ_k and b_k = −μ_kᵀw_k/2 with Σ_ε = (1 − ε)Σ + εI; no class is likelier beforehand.

    >>> means, covariance = torch.tensor([[0.0], [4.0]]), torch.tensor([[2.0]])
    >>> linear_discriminant(means, covariance, shrinkage=0.5)
    (tensor([[0.0000, 2.6667]]), tensor([-0.0000, -5.3333]))
    """
    weights = solve((1 - shrinkage) * covariance, means.T, shrinkage)
    return weights, -(means.T * weights).sum(dim=0) / 2


def shrunk(covariance: Tensor, diagonal: float, off_diagonal: float) -> Tensor:
    """Σ + γ₁d̄I + γ₂ō(J − I), where d̄ is the mean on the diagonal, ō the mean beside it, and J is all ones.

    For γ₁ ≥ γ₂ it is never indefinite. The mean beside the diagonal is that of all entries: with the zeros of
    features that do not move left out, ō can exceed d̄ and this would no longer hold.

    >>> shrunk(torch.tensor([[2.0, 1.0], [1.0, 4.0]]), diagonal=1.0, off_diagonal=0.5)
    tensor([[5.0000, 1.5000],
            [1.5000, 7.0000]])
    """
    size, trace = len(covariance), covariance.diagonal().sum()
    beside = off_diagonal * (covariance.sum() - trace) / max(size * (size - 1), 1)
    result = covariance + beside
    result.diagonal().add_(diagonal * trace / size - beside)
    return result


def correlation(covariance: Tensor) -> Tensor:
    """Σ_ij / (σ_i σ_j), so that classes of different spread have comparable distances.

    What does not move at all, as in a class of a single sample, correlates with itself alone.

    >>> correlation(torch.tensor([[4.0, 1.0], [1.0, 1.0]]))
    tensor([[1.0000, 0.5000],
            [0.5000, 1.0000]])
    """
    spread = covariance.diagonal().sqrt()
    spread = torch.where(spread > 0, spread, 1.0)
    return (covariance / torch.outer(spread, spread)).fill_diagonal_(1.0)


def whitening(covariance: Tensor) -> Tensor:
    """A with AᵀA = Σ⁻¹: the inverse of the Cholesky factor.

    >>> whitening(torch.tensor([[4.0]]))
    tensor([[0.5000]])
    """
    lower, failed = torch.linalg.cholesky_ex(covariance)
    if failed.item() or not bool(torch.isfinite(lower.diagonal()).all()):
        raise NumericalError(
            "The covariance of a class is not positive definite, so there is no distance by it; shrink it more "
            "(a larger `diagonal`, or a smaller `off_diagonal`)."
        )
    identity = torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
    return torch.linalg.solve_triangular(lower, identity, upper=False)


def mahalanobis(V: Tensor, mean: Tensor, A: Tensor) -> Tensor:
    """(v − μ)ᵀΣ⁻¹(v − μ) = ‖A(v − μ)‖² for every row v.

    >>> mahalanobis(torch.tensor([[5.0]]), torch.tensor([1.0]), whitening(torch.tensor([[4.0]])))
    tensor([4.])
    """
    return ((V - mean) @ A.T).square().sum(dim=1)
