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
from if2net.study.methods.common.few_samples import factors
from if2net.study.methods.common.statistical import Linear, Statistical, StatisticalSettings

RIDGES = [10.0**power for power in range(-8, 9)]
HELD_OUT = 0.2
# With at least this many times as many features as samples, the factor of few samples saves time.
FEW = 4


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
