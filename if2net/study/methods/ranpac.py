"""RanPAC: random projection and ridge regression (McDonnell et al., 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.ridge import solve
from if2net.decision.statistics import one_hot
from if2net.encoder import Blocks, EncoderConfig
from if2net.errors import NumericalError
from if2net.holdout import content_hashes, held_out
from if2net.study.methods.common.statistical import Linear, Statistical, StatisticalSettings

RIDGES = [10.0**power for power in range(-8, 9)]
HELD_OUT = 0.2
# With at least this many times as many features as samples, the factor of few samples saves time.
FEW = 4
BLOCK = 256  # columns that `factors` takes at a time
NEGLIGIBLE = 1e-12  # a column of which less is left, relative to the largest one, is rounding


@dataclass(frozen=True)
class RanPACSettings(StatisticalSettings):
    width: int = 10000


class RanPAC(Statistical):
    """Solve β = (G + λI)⁻¹Q, the minimum of ‖Vβ − Y‖² + λ‖β‖² over all tasks, for features V of a random ReLU layer.

    As in the original, the weights are standard normal without bias, and λ is chosen at each task from 17 values:
    the one with the least squared error on a fifth of the task, for a β fitted to the rest of it. G, Q and λ are
    kept. Departures: the fifth depends on the content of the samples, not on their order; there is no pretrained
    backbone to fine-tune on the first task.
    """

    name = "ranpac"
    summary = "random ReLU projection and a ridge chosen at each task; keeps no data"
    Settings = RanPACSettings

    def encoding(self) -> EncoderConfig:
        layers, scale = (Blocks(self.settings.width, 1),), self.inputs**0.5
        return EncoderConfig(layers=layers, scale=scale, standardise=self.settings.standardise)

    def count(self, X: Tensor, y: Tensor) -> None:
        held = held_out(content_hashes(X), HELD_OUT)
        self.state["ridge"] = self._least_error(self._candidates(X[~held], y[~held]), X[held], y[held])
        super().count(X, y)

    def classifier(self) -> Linear:
        """Use the chosen λ, or the next one with which G + λI can be factorised; all tasks may need more than one."""
        total, chosen = self.statistics[0], float(self.state["ridge"])
        ridges, offsets = [ridge for ridge in RIDGES if ridge >= chosen], total.Q.new_zeros(total.classes)
        if FEW * total.samples > total.width or self.device.type != "cpu":
            _, beta = next(_solutions(total.G, total.Q, ridges))
            return beta, offsets
        L, C = factors(total.G, total.Q, total.samples)
        _, inner = next(_solutions(L.T @ L, C, ridges))
        return L @ inner, offsets

    def _candidates(self, X: Tensor, y: Tensor) -> Iterator[tuple[float, Tensor]]:
        """β of this data for each λ: (G + λI)⁻¹Q, or Vᵀ(VVᵀ + λI)⁻¹Y if that is cheaper, for few samples."""
        classes = self.statistics[0].classes
        if len(X) < self.encoder.width:
            V, Y = torch.cat([V.double() for V, _ in self.encoded(X, y)]), one_hot(y, classes, torch.float64)
            for ridge, dual in _solutions(V @ V.T, Y, RIDGES):
                yield ridge, V.T @ dual
            return
        task = self.empty()
        task.grow(classes)
        for V, labels in self.encoded(X, y):
            task.add(V, labels)
        yield from _solutions(task.G, task.Q, RIDGES)

    def _least_error(self, candidates: Iterator[tuple[float, Tensor]], X: Tensor, y: Tensor) -> Tensor:
        """The λ whose β has the least squared error on these samples."""
        ridges, betas = zip(*candidates, strict=True)
        errors = torch.zeros(len(betas), dtype=torch.float64, device=self.device)
        for V, labels in self.encoded(X, y):
            Y = one_hot(labels, betas[0].shape[1], torch.float64)
            errors += torch.stack([(V.double() @ beta - Y).square().sum() for beta in betas])
        return torch.tensor(ridges, dtype=torch.float64, device=self.device)[errors.argmin()].reshape(1)


def _solutions(G: Tensor, Q: Tensor, ridges: list[float]) -> Iterator[tuple[float, Tensor]]:
    """Each λ with (G + λI)⁻¹Q. A λ too small for the rounding errors in G is skipped."""
    for ridge in ridges:
        try:
            yield ridge, solve(G, Q, ridge)
        except NumericalError:
            continue


def factors(G: Tensor, Q: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    """Return L and C with G = LLᵀ and Q = LC, for G = VᵀV and Q = VᵀY with this many rows in V.

    Then (G + λI)⁻¹Q = L(LᵀL + λI)⁻¹C, and LᵀL is only samples × samples. As everywhere, only the lower triangle of G
    is read. The columns of which most is left are taken, a block at a time, until nothing is left.

    >>> V, Y = torch.randn(3, 50, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    >>> G, Q = V.T @ V, V.T @ Y
    >>> L, C = factors(G, Q, samples=3)
    >>> L.shape, torch.allclose(L @ L.T, G), torch.allclose(L @ C, Q)
    (torch.Size([50, 3]), True, True)
    """
    from scipy.linalg import lapack

    left = G.diagonal().clone()
    least = NEGLIGIBLE * float(left.max())
    L, pivots = G.new_empty(len(G), 0), torch.empty(0, dtype=torch.int64)
    while L.shape[1] < samples and float(left.max()) > least:
        taken = left.topk(min(BLOCK, samples - L.shape[1])).indices
        rest = _columns(G, taken) - L @ L[taken].T
        # Factorised with pivots, since the columns of a block may depend on each other.
        corner, order, rank, _ = lapack.dpstrf(rest[taken].numpy(), lower=1, tol=least)
        kept = torch.from_numpy(order[:rank]).long() - 1
        corner = torch.from_numpy(corner[:rank, :rank]).tril()
        new = torch.linalg.solve_triangular(corner.T, rest[:, kept], upper=True, left=False)
        left -= new.square().sum(dim=1)
        L, pivots = torch.cat([L, new], dim=1), torch.cat([pivots, taken[kept]])
    return L, torch.linalg.solve_triangular(L[pivots], Q[pivots], upper=False)


def _columns(G: Tensor, taken: Tensor) -> Tensor:
    """Return columns of a symmetric matrix from its lower triangle."""
    below = torch.arange(len(G))[:, None] >= taken
    return torch.where(below, G[:, taken], G[taken].T)
