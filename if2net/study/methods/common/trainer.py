"""The training loop of every method that trains a network. A method's file overrides only what differs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.accelerate.cuda_graph import batch_step
from if2net.errors import ConfigurationError, NumericalError, unknown
from if2net.study.methods.common.method import Costs, Method, bytes_of
from if2net.study.methods.common.network import Network
from if2net.study.methods.common.sgd import SGD

SCOPES = ("seen", "current")
NETWORK, STATE = "network.", "state."  # prefixes of the names of saved tensors


@dataclass(frozen=True)
class TrainerSettings:
    """The paper's optimiser (SGD, rate 0.01, batches of 64) and its three hidden layers. The momentum is ours."""

    hidden: int = 400
    depth: int = 3
    rate: float = 0.01
    momentum: float = 0.9
    batch_size: int = 64
    epochs: int = 5
    steps: int = 1000  # the least number of steps per task; a small task gets more epochs
    scope: str = "seen"  # the loss is over all classes seen so far, or over those of the `current` task only

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise unknown("scope", self.scope, SCOPES)
        if self.hidden < 1 or self.batch_size < 1:
            raise ConfigurationError("hidden and batch_size must be at least 1.")


class Trainer(Method):
    """Train one network on one task after another, by cross-entropy over the classes seen so far.

    `learn` calls, in this order: `begin`, `training_data`, `train` (which calls `step` for each batch) and `finish`.
    The loss of a method is its `loss`; a method that changes gradients does so in `before_step`. Whatever a method
    keeps between tasks beside its network goes into `state`, which is saved, restored and counted.
    """

    Settings = TrainerSettings
    network_type: type[Network] = Network
    network: Network  # created with the first task
    optimiser: SGD  # created with each task
    old_classes: int = 0  # the number of classes before the current task
    random: torch.Generator | None = None  # the only source of randomness that a step may use
    graph_safe: bool = False  # whether a step may be recorded as a CUDA graph; RecordedStep lists the conditions

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: TrainerSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state: dict[str, Tensor] = {}

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        samples, labels = self._samples(X), torch.from_numpy(y).to(self.device)
        self._add_classes(int(labels.max()) + 1)
        self.begin(samples, labels)
        self.train(*self.training_data(samples, labels))
        self.finish(samples, labels)
        if not self.network.is_finite():  # it would predict the first class for every sample
            raise self.diverged()
        self.tasks += 1

    # Methods override these.

    def build(self, classes: int) -> Network:
        """Create the network."""
        generator = torch.Generator().manual_seed(self.seed)
        return self.network_type(self.inputs, classes, self.settings.hidden, self.settings.depth, generator)

    def trainable(self) -> list[nn.Parameter]:
        """The parameters that the current task trains."""
        return list(self.network.parameters())

    def begin(self, X: Tensor, y: Tensor) -> None:
        """Prepare for a task. The head already has rows for its classes."""

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The samples that the task trains on."""
        return X, y

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """The loss of the method on a batch."""
        return self.cross_entropy(self.network(X), y)

    def before_step(self, X: Tensor, y: Tensor) -> None:
        """Change the gradients of the loss on this batch before the optimiser uses them."""

    def after_step(self) -> None:
        """Change the network after the optimiser's step."""

    def finish(self, X: Tensor, y: Tensor) -> None:
        """Update the state after a task."""

    def scores(self, X: Tensor) -> Tensor:
        """One score per sample and class seen so far. The largest is the prediction."""
        return self.network(X)

    # Methods share these.

    def cross_entropy(self, logits: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy over the classes in the scope."""
        if self.settings.scope == "current":
            return F.cross_entropy(logits[:, self.old_classes :], y - self.old_classes)
        return F.cross_entropy(logits, y)

    def train(self, X: Tensor, y: Tensor) -> None:
        """Minimise the loss over these samples."""
        self.optimiser = SGD(self.trainable(), self.settings.rate, self.settings.momentum)
        generator, size = self.generator(salt=2), self.settings.batch_size
        step = batch_step(self.step, X, y, graph_safe=self.graph_safe, size=size, random=self.random)
        for _ in range(self.epochs(len(X))):
            order = torch.randperm(len(X), generator=generator).to(self.device)
            for batch in order.split(size):
                step(batch)

    def step(self, X: Tensor, y: Tensor) -> None:
        self.optimiser.zero_grad()
        self.loss(X, y).backward()
        self.before_step(X, y)
        self.optimiser.step()
        self.after_step()

    def epochs(self, samples: int) -> int:
        """The number of passes over the samples of a task."""
        return max(self.settings.epochs, math.ceil(self.settings.steps / self.batches(samples)))

    def batches(self, samples: int) -> int:
        """The number of batches per epoch."""
        return math.ceil(samples / self.settings.batch_size)

    def diverged(self) -> NumericalError:
        """The error for a training whose numbers are no longer finite."""
        rate = self.settings.rate
        return NumericalError(f"The training of {self.name} has diverged at a rate of {rate}. Set a smaller rate.")

    @torch.no_grad()
    def class_scores(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> Tensor:
        return torch.cat([self.scores(part) for part in self._samples(X).split(4096)])

    def tensors(self) -> dict[str, Tensor]:
        network = {NETWORK + name: value.detach() for name, value in self.network.state_dict().items()}
        return network | {STATE + name: value for name, value in self.state.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        weights = _strip(NETWORK, tensors)
        self.network = self.build(len(weights["head.bias"])).to(self.device)
        self.network.load_state_dict(weights)
        self.state = {name: value.to(self.device) for name, value in _strip(STATE, tensors).items()}

    def exemplars(self) -> int:
        """The number of samples in the state."""
        return 0

    def costs(self) -> Costs:
        parameters = sum(parameter.numel() for parameter in self.network.parameters())
        return Costs(bytes_of(self.tensors()), self.exemplars(), parameters)

    def _add_classes(self, classes: int) -> None:
        if self.tasks == 0:
            self.network = self.build(classes).to(self.device)
            self.old_classes = 0
        else:
            self.old_classes = self.network.classes
        self.network.generator = self.generator(salt=1)
        self.network.grow(classes)


def _strip(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names start with the prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
