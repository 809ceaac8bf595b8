"""The fold of many inputs into fewer, so that the layer, and the time to learn, stay bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Fold:
    """Sums of inputs with random signs: each input is part of one sum, and all sums have about the same size.

    Distances and products of samples keep their relative sizes on average, as with a dense random projection, which
    would take thousands of times the memory and the work.

    >>> fold = Fold.draw(5, 2, torch.Generator().manual_seed(0))
    >>> fold(torch.eye(5)).abs().sum(dim=1)
    tensor([0.6325, 0.6325, 0.6325, 0.6325, 0.6325])
    """

    order: Tensor  # the inputs: those of the sums' first terms, then those of their second terms, and so on
    signs: Tensor  # of the inputs in this order, scaled so that a sum varies as much as an input
    sums: int

    @classmethod
    def draw(cls, inputs: int, sums: int, generator: torch.Generator) -> Fold:
        """Return a random fold."""
        signs = torch.randint(2, (inputs,), generator=generator) * 2.0 - 1.0
        return cls(torch.randperm(inputs, generator=generator), signs * math.sqrt(sums / inputs), sums)

    def to(self, like: Tensor) -> Fold:
        """Return the fold on the device and in the precision of a tensor."""
        return Fold(self.order.to(like.device), self.signs.to(like), self.sums)

    def __call__(self, X: Tensor) -> Tensor:
        """Return the sums of each row."""
        first, *further = (X[:, self.order] * self.signs).split(self.sums, dim=1)
        sums = first.clone()
        for terms in further:
            sums[:, : terms.shape[1]] += terms
        return sums
