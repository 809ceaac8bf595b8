"""What the analytic peers share: a frozen encoder, statistics of its features, a classifier solved from these."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from if2net.decision.statistics import Statistics
from if2net.encoder import DenseEncoder, EncoderConfig, encoder_config
from if2net.encoder.rowwise import rowwise, rowwise_product
from if2net.learning import LEARNING_BLOCK
from if2net.study.methods.base import Costs, Method, bytes_of
from if2net.study.methods.discriminants import Linear

STATISTICS, STATE = "statistics.", "state."


class Statistical(Method):
    """Counts the features of each task and solves a classifier from all that was counted; no sample is kept.

    The originals classify the features of a trained backbone. Here the encoder is frozen from the first task on and
    sees the inputs as IF2Net's does: standardised by the first task. Statistics are in float64, whatever the
    original's precision, so that a covariance from G and a small ridge mean what they say. What a method keeps beside
    its statistics goes into `state`; all of it is saved, restored and counted.
    """

    gram = True  # whether the classifier needs G
    solved: Linear

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: object) -> None:
        super().__init__(inputs, seed, device, settings)
        self.encoder = DenseEncoder(self.encoding(), seed)
        self.statistics: list[Statistics] = []
        self.state: dict[str, Tensor] = {}

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        samples, labels = self._samples(X), torch.from_numpy(y).to(self.device)
        if self.tasks == 0:
            self.start(samples)
        self.grow(int(labels.max()) + 1)
        self.count(samples, labels)
        self.solved = self.classifier()
        self.tasks += 1

    # What a method may override.

    @abstractmethod
    def classifier(self) -> Linear:
        """What `scores` works with, solved from the statistics; weights and offsets where it is linear."""

    def scores(self, V: Tensor) -> Tensor:
        """What a prediction is the largest of, one column a class."""
        weights, offsets = self.solved
        return rowwise_product(V.to(weights.dtype), weights) + offsets

    def encoding(self) -> EncoderConfig:
        """The inputs themselves, standardised."""
        return encoder_config("linear", self.inputs, bias=False)

    def start(self, X: Tensor) -> None:
        self.encoder.start(X)
        for weights in self.encoder.weights:
            weights[-1] = 0  # the random layers of the originals have no bias

    def grow(self, classes: int) -> None:
        if not self.statistics:
            self.statistics.append(self.empty())
        self.statistics[0].grow(classes)

    def count(self, X: Tensor, y: Tensor) -> None:
        for V, labels in self.encoded(X, y):
            self.add(V, labels)

    def add(self, V: Tensor, y: Tensor) -> None:
        self.statistics[0].add(V, y)

    def features(self, X: Tensor) -> Tensor:
        return self.encoder.encode(X, [])

    # What it shares.

    def empty(self) -> Statistics:
        return Statistics(self.encoder.width, torch.float64, self.device, gram=self.gram)

    def encoded(self, X: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Features and labels, block by block: those of all samples never exist at once."""
        for part, labels in zip(X.split(LEARNING_BLOCK), y.split(LEARNING_BLOCK), strict=True):
            yield self.features(part), labels

    @property
    def counts(self) -> Tensor:
        """Samples learned, by class."""
        return torch.cat([part.counts for part in self.statistics])

    def predict(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> np.ndarray:
        scores = rowwise(lambda block: self.scores(self.features(block)), self._samples(X))
        return scores.masked_fill(self.counts == 0, -torch.inf).argmax(dim=1).cpu().numpy()

    def tensors(self) -> dict[str, Tensor]:
        found = dict(self.encoder.tensors()) | {STATE + name: value for name, value in self.state.items()}
        for place, part in enumerate(self.statistics):
            found |= dict(part.tensors(f"{STATISTICS}{place}"))
            found[f"{STATISTICS}{place}.G"] = torch.tril(part.G)  # above it is memory that nobody has written
        return found

    def restore(self, tensors: dict[str, Tensor]) -> None:
        tensors = {name: value.to(self.device) for name, value in tensors.items()}
        self.encoder.restore(tensors)
        self.state = {name[len(STATE) :]: value for name, value in tensors.items() if name.startswith(STATE)}
        parts = sum(name.startswith(STATISTICS) and name.endswith(".counts") for name in tensors)
        self.statistics = [Statistics(0) for _ in range(parts)]
        for place, part in enumerate(self.statistics):
            part.restore(f"{STATISTICS}{place}", tensors)
        self.solved = self.classifier()

    def costs(self) -> Costs:
        frozen = sum(tensor.numel() for _, tensor in self.encoder.tensors())
        return Costs(bytes_of(self.tensors()), 0, frozen + sum(tensor.numel() for tensor in self.solved))

    def _samples(self, X: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32)).to(self.device)
