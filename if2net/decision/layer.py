"""The output layer: the base class of the analytic, gradient and EWC rules."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.decision.calibration import temperature
from if2net.decision.novelty import Novelty, Product
from if2net.decision.statistics import MOST_SAMPLES, MOST_WEIGHT, Statistics
from if2net.decision.symmetric import pack, unpack
from if2net.errors import ConfigurationError, ModelFileError
from if2net.tensor_specs import TensorSpec, TensorSpecs

# The ridge and the temperature are chosen on about this many evenly spaced features where there are more than four
# times as many: the factorisation for the choice is then small beside the one of all features.
CHOOSING_FEATURES = 2048

# V, the class (column of Q) of each sample, the mask of the held-out samples, and the weights of the samples, or None
# where they have none.
Block = tuple[Tensor, Tensor, Tensor, Tensor | None]
# Receives the progress of a rule: task, epoch, loss and tr(P)/S.
Report = Callable[[dict[str, float]], None]


@dataclass(frozen=True)
class RuleConfig:
    """The settings of Algorithm 2. The analytic rule reads the first two, the gradient and EWC rules the others."""

    ridge: float | None = None  # relative to tr(G)/S; chosen on held-out statistics when None
    holdout: float = 0.1  # share of samples that are held out, by their content; the ridge is chosen on them
    alpha: float = 0.1  # the projector's α; the paper's value
    projector: str = "exact"  # or `recursive`, the paper's; or `batch-mean`, OWM's
    initialisation: str = "analytic"  # of the first task (Remark 1); or `random`
    initial_samples: int | None = None  # samples of the first task that it uses; all when None
    mu: float = 2.0**-30  # μ of Remark 1; the paper's value
    epochs: int = 5
    batch_size: int = 64
    step: float = 1.0  # as a share of 1/λmax of the projected curvature; it diverges above 2
    fisher: float = 100.0  # weight of the EWC penalty
    seed: int = 0


@dataclass(frozen=True)
class Task:
    """The samples of one task, encoded block by block.

    `blocks` starts an iteration over them, as often as it is called. `check` raises an error if a sample of a block
    that has been iterated over cannot be used; samples in host memory are only checked on their way to a GPU.
    """

    samples: int
    classes: int  # known so far, those of the task included
    blocks: Callable[[], Iterator[Block]]
    check: Callable[[], None]
    in_memory: bool = True


def thinning(count: int, enough: int) -> slice:
    """Return a slice that takes every k-th of `count` items and leaves about `enough`; all where that saves little.

    >>> thinning(6785, 2048), thinning(10_000, 2048)
    (slice(None, None, 1), slice(None, None, 5))
    """
    return slice(None, None, 1 if count <= 4 * enough else math.ceil(count / enough))


class DecisionLayer(ABC):
    """Statistics of everything learned, and the output weights β that a rule derives from them.

    `held` counts the held-out samples a second time, to choose the ridge; they are part of `total` as well. For a
    wide layer, `held` has only some of the features.

    Changes become visible through a `commit` function, which the caller passes: a rule prepares its change, and
    calls `commit` with the layer that is valid from then on. After an error or Ctrl-C before that call, the layer
    is as it was.
    """

    exact: ClassVar[bool] = False  # whether forgetting and merging equal training on the remaining or joined data
    learns: ClassVar[bool] = True  # whether it keeps statistics; without them it only predicts

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        self.width, self.config = width, config
        self.dtype, self.device = dtype, device
        self.total = Statistics(width, dtype, device, gram=self.learns)
        self.features = thinning(width, CHOOSING_FEATURES)
        self.held = Statistics(len(range(width)[self.features]), dtype, device, gram=self.learns)
        self.class_hashes: Callable[[], np.ndarray] | None = None  # `Labels.hashes` of the classes
        self.class_weight: str | list[float] | None = None  # "balanced", or a weight per column
        self._temperature: float | None = None

    def empty(self) -> Self:
        """Return a layer of the same kind that has learned nothing."""
        return type(self)(self.width, self.config, self.dtype, self.device)

    @property
    def classes(self) -> int:
        return self.total.classes

    @property
    def fitting(self) -> Statistics:
        """Statistics of everything but the held-out samples, for the features that `held` has."""
        return self.total.thinned(self.features).without(self.held)

    @property
    @abstractmethod
    def beta(self) -> Tensor:
        """The output weights, S × C."""

    @property
    def temperature(self) -> float:
        """The τ of the probabilities softmax(scores / τ)."""
        if self._temperature is None:
            self._temperature = self._fit_temperature()
        return self._temperature

    @abstractmethod
    def learn(self, task: Task, commit: Callable[[DecisionLayer], None], report: Report | None = None) -> None:
        """Learn a task."""

    def forget(self, task: Task, commit: Callable[[DecisionLayer, list[int]], None]) -> None:
        """Remove samples. `commit` also receives the columns of the classes that still have samples."""
        raise ConfigurationError("Only the analytic rule can forget exactly.")

    def forget_class(self, column: int, commit: Callable[[DecisionLayer, list[int]], None]) -> None:
        """Remove a class without its samples, whose scatter stays in G. `commit` is that of `forget`."""
        raise ConfigurationError("Only the analytic rule can forget a class.")

    def merge(self, other: DecisionLayer, columns: Tensor, classes: int) -> None:
        """Add the statistics of another layer; its class k is column columns[k] of the `classes` here."""
        raise ConfigurationError("Only the analytic rule can merge exactly.")

    def novelty(self, product: Callable[[Tensor], Product]) -> Novelty:
        """Return the novelty of samples. `product` prepares V ↦ VB for a matrix B."""
        raise ConfigurationError("Only the analytic rule can tell known from unknown samples.")

    def grow(self, classes: int) -> None:
        self.total.grow(classes)
        self.held.grow(classes)
        self._changed()

    def add(self, V: Tensor, y: Tensor, held: Tensor, weights: Tensor | None = None) -> None:
        with self._changing():
            self.total.add(V, y, None, weights)
            self.held.add(*self._held_part(V, y, held, weights))
        self._changed()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Refuse to use the layer after an error in this block, which may leave it half changed."""
        before, self.total.whole, self.held.whole = self.total.whole, False, False
        yield
        self.total.whole = self.held.whole = before

    def reweighted(self, statistics: Statistics) -> Statistics:
        """Return statistics in which the classes have their weights, if there are any."""
        return statistics if self.class_weight is None else statistics.reweighted(self._weights())

    @abstractmethod
    def free_share(self) -> float:
        """Return tr(P)/S, the share of directions that nothing learned so far uses."""

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the statistics by name; of G, only one triangle."""
        for name, part in (("total", self.total), ("held", self.held)):
            for key, tensor in part.tensors(name):
                yield key, pack(tensor) if key.endswith(".G") else tensor
        yield "nameless", torch.tensor([self.total.nameless, self.held.nameless])
        weights = torch.stack([_all_weights(part) for part in (self.total, self.held)]).cpu()
        if not torch.equal(weights, torch.stack([_all_counts(part) for part in (self.total, self.held)]).cpu()):
            yield "weights", weights
        if self.total.largest:
            yield "largest", torch.tensor([self.total.largest], dtype=torch.float64)

    def solved_tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the values derived from the statistics so far; a copy without them derives them again."""
        if self._temperature is not None:
            yield "temperature", torch.tensor([self._temperature], dtype=torch.float64)

    @classmethod
    def tensor_specs(cls, width: int, classes: int, config: RuleConfig, dtype: torch.dtype) -> TensorSpecs:
        """Return the shapes and bounds of `tensors` and `solved_tensors` for a layer of this size."""
        held = len(range(width)[thinning(width, CHOOSING_FEATURES)])
        total = Statistics.tensor_specs("total", width, classes, dtype)
        further = {
            "nameless": TensorSpec((2,), torch.int64, least=0, most=MOST_SAMPLES),
            "weights": TensorSpec((2, classes + 1), torch.float64, least=0.0, most=MOST_WEIGHT, needed=False),
            "largest": TensorSpec((1,), torch.float64, least=0.0, needed=False),
            "temperature": TensorSpec((1,), torch.float64, least=1e-4, most=1e3, needed=False),
        }
        return total | Statistics.tensor_specs("held", held, classes, dtype) | further

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Restore the layer from its `tensors` and `solved_tensors`. All but G must be on its device."""
        nameless, weights = tensors["nameless"].tolist(), tensors.get("weights")
        if nameless[1] > nameless[0] or bool((tensors["held.counts"] > tensors["total.counts"]).any()):
            raise ModelFileError("More samples are held out than were learned.")
        for row, (name, part) in enumerate((("total", self.total), ("held", self.held))):
            G = unpack(tensors[f"{name}.G"], part.width).to(self.device)
            part.restore(name, tensors | {f"{name}.G": G})
            part.nameless, part.nameless_weight = nameless[row], float(nameless[row])
            if weights is not None:
                if bool(((weights[row] > 0) != (_all_counts(part) > 0)).any()):
                    raise ModelFileError("The weights of its samples do not fit their numbers.")
                part.weights, part.nameless_weight = weights[row, :-1], float(weights[row, -1])
        self.total.largest = float(tensors["largest"]) if "largest" in tensors else 0.0
        squares, weight = self.total.trace, self.total.weight
        if not (self.total.are_possible(squares, weight) and self.held.are_possible(squares, weight)):
            raise ModelFileError("Its sums G and Q are not those of any samples.")
        self._changed()
        self._temperature = float(tensors["temperature"]) if "temperature" in tensors else None

    def _held_part(
        self, V: Tensor, y: Tensor, held: Tensor, weights: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Return the part of a block that `held` counts: the rows of the held-out samples.

        On a GPU that is all rows with a mask: selecting the rows would make the host wait for their number.
        """
        some = V[:, self.features]
        if V.device.type == "cuda":
            return some, y, held, weights
        rows = held.nonzero().flatten()
        return some[rows].contiguous(), y[rows], None, None if weights is None else weights[rows]

    def _weights(self) -> Tensor:
        """Return the weight of a sample of each class; balanced ones give all classes the same sum."""
        if self.class_weight == "balanced":
            return 1 / torch.where(self.total.weights > 0, self.total.weights, 1)
        return torch.tensor(self.class_weight, dtype=torch.float64, device=self.device)

    def _fit_temperature(self) -> float:
        """Fit the temperature with β as it is: the gradient rules have no other."""
        part = self.held if self.held.samples and self.held.width == self.width else self.total
        order = self.order_for_draws()
        return temperature(self.beta[:, order], self.reweighted(part).in_order(order))

    def order_for_draws(self) -> Tensor:
        """Return the columns in the order of the hashes of their labels.

        Random draws for one column after the other then do not depend on the order in which the classes came.
        """
        numbers = self.class_hashes() if self.class_hashes else np.arange(self.classes)
        return torch.from_numpy(np.argsort(numbers)).to(self.device)

    def _changed(self) -> None:
        """Drop the values derived from the former statistics."""
        self._temperature = None


def _all_counts(part: Statistics) -> Tensor:
    """Return the number of samples per class, and of the nameless ones."""
    return pad(part.counts.double(), (0, 1), value=part.nameless)


def _all_weights(part: Statistics) -> Tensor:
    """Return the weight of each class, and of the nameless samples."""
    return pad(part.weights, (0, 1), value=part.nameless_weight)
