"""β(α) = (G + αI)⁻¹Q for all α near a centre, from one factorisation or one eigendecomposition."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.decision.ridge import apply_inverse, factor, not_positive_definite
from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric, symmetric_product

# Enough for three digits of the error at 1.5 decades from the centre; the residual shrinks by 0.7 a step there.
STEPS = 16
# Up to so many features an eigendecomposition is faster on a CPU: see benchmarks/ridge_path.py.
NARROW = 128


def ridge_path(fitting: Statistics, held: Statistics, centre: float) -> RidgePath | EigenPath:
    """Whichever is faster at this width."""
    narrow = fitting.width <= NARROW and fitting.G.device.type == "cpu"
    return (EigenPath if narrow else RidgePath)(fitting, held, centre)


class RidgePath:
    """Held-out errors of β(α), for any α, at the price of one factorisation.

    With M = G + α₀I the system is (I + (α − α₀)M⁻¹)β = M⁻¹Q. The Krylov space of M⁻¹ and M⁻¹q does not depend on α,
    so a few Lanczos steps for each column q give K and a tridiagonal T with M⁻¹K ≈ KT, and then
    β(α) ≈ ‖M⁻¹q‖ K(I + (α − α₀)T)⁻¹e₁ for every α at once. It is exact at α₀, and good within two decades of it.
    """

    def __init__(self, fitting: Statistics, held: Statistics, centre: float) -> None:
        self.centre = centre
        lower = factor(fitting.G, centre)
        start = apply_inverse(lower, fitting.Q)
        self.length = start.norm(dim=0)
        self.K, self.T = _lanczos(lower, start, min(STEPS, fitting.width))
        self._project(held)

    def _project(self, held: Statistics) -> None:
        """KᵀG_hK and KᵀQ_h, all that the held-out error needs of the held-out samples."""
        flat = self.K.flatten(end_dim=1).to(held.G.dtype)
        product = symmetric_product(held.G, flat.T).T.reshape(self.K.shape).to(self.K.dtype)
        self.curvature = (self.K @ product.mT).double()
        self.slope = torch.linalg.vecdot(self.K, held.Q.T[:, None].to(self.K.dtype)).double()
        self.samples = held.samples

    def coordinates(self, alpha: float) -> Tensor:
        """z with β(α) ≈ Kz, one row a class."""
        steps = self.T.shape[1]
        identity = torch.eye(steps, dtype=torch.float64, device=self.T.device)
        system = identity + (alpha - self.centre) * self.T.double()
        return torch.linalg.solve(system, self.length.double()[:, None] * identity[0])

    def error(self, alpha: float) -> float:
        """‖V_hβ − Y_h‖²/n_h = (zᵀKᵀG_hKz − 2zᵀKᵀQ_h + n_h)/n_h, summed over the classes."""
        z = self.coordinates(alpha)
        fitted = torch.einsum("ci,cij,cj->", z, self.curvature, z)
        return float(fitted - 2 * (z * self.slope).sum() + self.samples) / self.samples


class EigenPath:
    """The same from G = UΛUᵀ, and exact for every α: β(α) = U(Λ + αI)⁻¹UᵀQ."""

    def __init__(self, fitting: Statistics, held: Statistics, centre: float) -> None:
        try:
            values, U = torch.linalg.eigh(symmetric(fitting.G).double())
        except torch.linalg.LinAlgError as error:  # not all of G is finite
            raise not_positive_definite(centre) from error
        if not float(values[0]) + centre > 0:
            raise not_positive_definite(centre)
        self.values = values.clamp(min=0)  # below zero is rounding
        self.target, self.slope = U.T @ fitting.Q.double(), U.T @ held.Q.double()
        self.curvature = U.T @ symmetric_product(held.G, U)
        self.samples = held.samples

    def error(self, alpha: float) -> float:
        """As of `RidgePath`, with z = (Λ + αI)⁻¹UᵀQ."""
        z = self.target / (self.values + alpha)[:, None]
        return float((z * (self.curvature @ z - 2 * self.slope)).sum() + self.samples) / self.samples


def _lanczos(lower: Tensor, start: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """K (C × steps × S), whose rows are orthonormal for each column of `start`, and T (C × steps × steps)."""
    width, classes = start.shape
    K = start.new_zeros(classes, steps, width)
    T = start.new_zeros(classes, steps, steps)
    K[:, 0] = _unit(start.T)
    for step in range(steps):
        following = apply_inverse(lower, K[:, step].T).T
        T[:, step, step] = torch.linalg.vecdot(K[:, step], following)
        if step + 1 == steps:
            break
        known = K[:, : step + 1]
        for _ in range(2):  # once is not enough in float32
            following = following - ((known @ following[..., None]).mT @ known).squeeze(1)
        T[:, step, step + 1] = T[:, step + 1, step] = following.norm(dim=1)
        K[:, step + 1] = _unit(following)
    return K, T


def _unit(rows: Tensor) -> Tensor:
    """Rows of length 1; a zero row, where the space is exhausted, stays zero."""
    return rows / rows.norm(dim=1, keepdim=True).clamp(min=torch.finfo(rows.dtype).tiny)
