"""The network of the compared methods: three hidden layers and one head that grows."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn


class Network(nn.Module):
    """A multilayer perceptron with a single head; rows are added to the head as classes appear."""

    def __init__(self, inputs: int, classes: int, hidden: int, depth: int, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator
        widths = [inputs, *[hidden] * depth]
        self.hidden = nn.ModuleList(self._linear(a, b) for a, b in itertools.pairwise(widths))
        self.head = self._linear(widths[-1], classes)

    @property
    def classes(self) -> int:
        return self.head.out_features

    def finite(self) -> bool:
        """Whether training has left numbers to predict with."""
        return all(bool(parameter.isfinite().all()) for parameter in self.parameters())

    def features(self, X: Tensor) -> Tensor:
        for layer in self.hidden:
            X = torch.relu(layer(X))
        return X

    def forward(self, X: Tensor) -> Tensor:
        return self.head(self.features(X))

    def grow(self, classes: int) -> None:
        """Add head rows for new classes; the old ones stay as they are."""
        if classes <= self.classes:
            return
        old, grown = self.head, self._linear(self.head.in_features, classes).to(self.head.weight.device)
        with torch.no_grad():
            grown.weight[: old.out_features] = old.weight
            grown.bias[: old.out_features] = old.bias
        self.head = grown

    def _linear(self, inputs: int, outputs: int) -> nn.Linear:
        layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
        bound = 1 / max(inputs, 1) ** 0.5
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.uniform_(-bound, bound, generator=self.generator)
        return layer
