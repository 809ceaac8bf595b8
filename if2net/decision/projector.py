"""P = α(G + αI)⁻¹, which projects onto the directions that the old representations do not use (the paper's P_t)."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.decision.ridge import factor
from if2net.decision.symmetric import add_gram, mirror
from if2net.errors import NumericalError


def projector(G: Tensor, alpha: float) -> Tensor:
    """Return P from G, by one Cholesky factor in float64. Prefer it: it accumulates no rounding.

    >>> G = torch.zeros(2, 2, dtype=torch.float64); G[0, 0] = 1e6    # old data uses the first direction
    >>> projector(G, alpha=0.1).diagonal().round(decimals=3)
    tensor([0., 1.], dtype=torch.float64)
    """
    return alpha * torch.cholesky_inverse(factor(G.double(), alpha))[: len(G), : len(G)]


def free_share(P: Tensor) -> float:
    """Return tr(P)/S, the share of directions that are free."""
    return float(P.diagonal().mean())


class RecursiveProjector:
    """The paper's recursion, batch by batch: P ← P − PVᵀ(αI + VPVᵀ)⁻¹VP, from P = I (Woodbury).

    The paper's own form. It needs no G, but its rounding accumulates. So it runs in float64, keeps P symmetric, and
    raises an error when P can no longer be a projector. With `batch_mean` each batch counts as its mean row, as in
    OWM: cheaper, but the result depends on the batch size. Checking P waits for the device. With `checked` off, P
    changes in place, and the caller asks from time to time whether it is `healthy`.
    """

    def __init__(
        self,
        width: int,
        alpha: float | Tensor,
        *,
        batch_mean: bool = False,
        checked: bool = True,
        device: torch.device | str = "cpu",
    ) -> None:
        self.P = torch.eye(width, dtype=torch.float64, device=device)
        self.alpha = alpha
        self.batch_mean = batch_mean
        self.checked = checked

    def update(self, V: Tensor) -> None:
        V = V.double()
        if self.batch_mean:
            V = V.mean(dim=0, keepdim=True)
        updated = self._without(V, self.P.clone() if self.checked else self.P)
        if self.checked and not healthy(updated):
            raise NumericalError(
                "The recursive projector has lost positive-definiteness to rounding; use projector='exact', "
                "which derives P from G, or a larger alpha."
            )
        self.P = updated

    def _without(self, V: Tensor, P: Tensor) -> Tensor:
        """Subtract PVᵀ(αI + VPVᵀ)⁻¹VP from P in place, as WᵀW with W = L⁻¹VP and LLᵀ = αI + VPVᵀ."""
        PV = P @ V.T
        inner = V @ PV
        inner.diagonal().add_(self.alpha)
        if len(V) == 1:  # a division is enough
            root = PV / inner.sqrt()
            return P.addmm_(root, root.T, alpha=-1)
        lower, failed = torch.linalg.cholesky_ex(inner)
        lower.diagonal().add_(torch.where(failed == 0, 0.0, torch.nan))  # leaves P unhealthy
        add_gram(P, torch.linalg.solve_triangular(lower, PV.T, upper=False), -1)
        return mirror(P)


def healthy(P: Tensor) -> bool:
    """Return whether P can be a projector: its diagonal lies in (0, 1]."""
    diagonal = P.diagonal()
    return bool(torch.isfinite(diagonal).all()) and float(diagonal.min()) > 0 and float(diagonal.max()) <= 1.001
