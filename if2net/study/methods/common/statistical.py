"""Analytic methods: a frozen encoder, statistics of its features, and a classifier solved from the statistics."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from if2net.decision.statistics import Statistics
from if2net.encoder import DenseEncoder, EncoderConfig, encoder_config
from if2net.encoder.rowwise import rowwise, rowwise_product
from if2net.encoder.standardise import MODES
from if2net.errors import unknown
from if2net.learner import TWEAK_BLOCK
from if2net.study.methods.common.method import Costs, Method, bytes_of

STATISTICS, STATE = "statistics.", "state."
# The weights (S × C) and offsets (C) of linear scores Vw + b.
Linear = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class StatisticalSettings:
    standardise: str = "auto"  # the scale of the inputs, with the choices that IF2Net has

    def __post_init__(self) -> None:
        if self.standardise not in MODES:
            raise unknown("way to standardise", self.standardise, MODES)


class Statistical(Method):
    """Accumulate statistics of the features of each task, and solve a classifier from them; no sample is kept.

    The originals classify the features of a trained backbone. Here the encoder is frozen from the first task on, and
    its inputs are standardised by the first task, as in IF2Net. Statistics are in float64, so that covariances from
    G and small ridges are accurate. Whatever a method keeps beside its statistics goes into `state`, which is saved,
    restored and counted. The classifier of a method, and so its equation, is in `classifier`.
    """

    Settings = StatisticalSettings
    gram = True  # whether the classifier needs G
    stored = torch.float32  # the precision of the authors' code, in which `costs` counts the statistics and the state
    solved: Linear  # the classifier after the last task

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

    # Methods override these.

    @abstractmethod
    def classifier(self) -> Linear:
        """Solve the classifier that `scores` uses: weights and offsets if it is linear."""

    def scores(self, V: Tensor) -> Tensor:
        """One score per sample and class. The largest is the prediction."""
        weights, offsets = self.solved
        return rowwise_product(V.to(weights.dtype), weights) + offsets

    def encoding(self) -> EncoderConfig:
        """The default encoder: standardised inputs."""
        return encoder_config("linear", self.inputs, bias=False, standardise=self.settings.standardise)

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

    # Methods share these.

    def empty(self) -> Statistics:
        return Statistics(self.encoder.width, torch.float64, self.device, gram=self.gram)

    def encoded(self, X: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Features and labels in blocks, which bounds the memory."""
        for part, labels in zip(X.split(TWEAK_BLOCK), y.split(TWEAK_BLOCK), strict=True):
            yield self.features(part), labels

    @property
    def counts(self) -> Tensor:
        """The number of learned samples per class."""
        return torch.cat([part.counts for part in self.statistics])

    def class_scores(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> Tensor:
        scores = rowwise(lambda block: self.scores(self.features(block)), self._samples(X))
        return scores.masked_fill(self.counts == 0, -torch.inf)

    def tensors(self) -> dict[str, Tensor]:
        tensors = dict(self.encoder.tensors()) | {STATE + name: value for name, value in self.state.items()}
        for place, part in enumerate(self.statistics):
            tensors |= dict(part.tensors(f"{STATISTICS}{place}"))
            tensors[f"{STATISTICS}{place}.G"] = torch.tril(part.G)  # the upper triangle is uninitialised memory
        return tensors

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
        frozen = dict(self.encoder.tensors())
        kept = sum(tensor.numel() for name, tensor in self.tensors().items() if name not in frozen)
        parameters = sum(tensor.numel() for tensor in (*frozen.values(), *self.solved))
        return Costs(bytes_of(frozen) + kept * self.stored.itemsize, 0, parameters)
