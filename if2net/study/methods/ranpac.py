"""RanPAC: a random ReLU projection and ridge regression (McDonnell et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.ridge import solve
from if2net.decision.statistics import one_hot
from if2net.encoder import Blocks, EncoderConfig
from if2net.errors import NumericalError
from if2net.holdout import held_out
from if2net.study.methods.discriminants import Linear
from if2net.study.methods.statistical import Statistical

RIDGES = [10.0**power for power in range(-8, 9)]
HELD_OUT = 0.2


@dataclass(frozen=True)
class RanPACSettings:
    width: int = 10000


class RanPAC(Statistical):
    """β = (G + λI)⁻¹Q of everything learned, with λ chosen at each task on a fifth of that task's data.

    As by its authors: standard normal weights without bias, 17 values of λ, and the least squared error on the fifth
    of a β fitted to the rest of the task. The fifth is picked by the content of the samples, not by their order.
    Left out is the fine-tuning of a pretrained backbone on the first task; there is no backbone here.
    """

    name = "ranpac"
    summary = "random ReLU projection, ridge chosen at each task; keeps no data"
    Settings = RanPACSettings

    def encoding(self) -> EncoderConfig:
        return EncoderConfig(layers=(Blocks(self.settings.width, 1),), scale=self.inputs**0.5)

    def count(self, X: Tensor, y: Tensor) -> None:
        held = held_out(X, HELD_OUT)
        self.state["ridge"] = self._least_error(self._candidates(X[~held], y[~held]), X[held], y[held])
        super().count(X, y)

    def classifier(self) -> Linear:
        """At the chosen λ, or the next at which G + λI can be factorised: all tasks may need more than one did."""
        G, Q, chosen = self.statistics[0].G, self.statistics[0].Q, float(self.state["ridge"])
        _, beta = next(_solutions(G, Q, [ridge for ridge in RIDGES if ridge >= chosen]))
        return beta, Q.new_zeros(Q.shape[1])

    def _candidates(self, X: Tensor, y: Tensor) -> Iterator[tuple[float, Tensor]]:
        """β of this data for each λ: (G + λI)⁻¹Q, which for few samples is had for less as Vᵀ(VVᵀ + λI)⁻¹Y."""
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
    """Each ridge with (G + λI)⁻¹Q, where there is one: a ridge may be too small for the rounding in G."""
    for ridge in ridges:
        try:
            yield ridge, solve(G, Q, ridge)
        except NumericalError:
            continue
