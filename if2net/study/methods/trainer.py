"""The one training loop of the methods that train a network; a method's file overrides only what is its own."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.accelerate.cuda_graph import taking
from if2net.errors import diverged
from if2net.study.methods.base import Costs, Method, bytes_of
from if2net.study.methods.network import Network
from if2net.study.methods.settings import TrainerSettings

NETWORK, STATE = "network.", "state."


class Trainer(Method):
    """Cross-entropy over the classes seen so far, one task after the other.

    What a method keeps between tasks beside its network goes into `state`; it is saved, restored and counted.
    """

    Settings = TrainerSettings
    network: Network  # made with the first task
    optimiser: torch.optim.Optimizer  # made anew with each task
    old: int = 0  # how many classes there were before the current task
    random: torch.Generator | None = None  # what a step draws from, where it draws anything
    replays: bool = False  # whether a step can be replayed on a GPU; see Replayed for what that asks

    def __init__(self, inputs: int, seed: int, device: torch.device, settings: TrainerSettings) -> None:
        super().__init__(inputs, seed, device, settings)
        self.state: dict[str, Tensor] = {}

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        samples, labels = self._samples(X), torch.from_numpy(y).to(self.device)
        self._make_room(int(labels.max()) + 1)
        self.begin(samples, labels)
        self.train(*self.training_data(samples, labels))
        self.finish(samples, labels)
        if not self.network.finite():  # it would go on to predict the first class for everything
            raise diverged(self.name)
        self.tasks += 1

    # What a method may override.

    def build(self, classes: int) -> Network:
        """A new network for so many classes."""
        generator = torch.Generator().manual_seed(self.seed)
        return Network(self.inputs, classes, self.settings.hidden, self.settings.depth, generator)

    def trained(self) -> list[nn.Parameter]:
        """The parameters that the current task may move."""
        return list(self.network.parameters())

    def begin(self, X: Tensor, y: Tensor) -> None:
        """Before a task; the network has room for its classes already."""

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """What the task is trained on."""
        return X, y

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        return self.cross_entropy(self.network(X), y)

    def before_step(self, X: Tensor, y: Tensor) -> None:
        """Gradients of the loss on this batch are there; they may still be changed."""

    def after_step(self) -> None:
        """The optimiser has moved the network."""

    def finish(self, X: Tensor, y: Tensor) -> None:
        """After a task."""

    def scores(self, X: Tensor) -> Tensor:
        """What a prediction is the largest of, one column a class seen so far."""
        return self.network(X)

    # What it shares.

    def cross_entropy(self, logits: Tensor, y: Tensor) -> Tensor:
        if self.settings.scope == "current":
            return F.cross_entropy(logits[:, self.old :], y - self.old)
        return F.cross_entropy(logits, y)

    @torch.no_grad()
    def predict(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> np.ndarray:
        found = [self.scores(part).argmax(dim=1) for part in self._samples(X).split(4096)]
        return torch.cat(found).cpu().numpy()

    def tensors(self) -> dict[str, Tensor]:
        network = {NETWORK + name: value.detach() for name, value in self.network.state_dict().items()}
        return network | {STATE + name: value for name, value in self.state.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        weights = _under(NETWORK, tensors)
        self.network = self.build(len(weights["head.bias"])).to(self.device)
        self.network.load_state_dict(weights)
        self.state = {name: value.to(self.device) for name, value in _under(STATE, tensors).items()}

    def costs(self) -> Costs:
        parameters = sum(parameter.numel() for parameter in self.network.parameters())
        return Costs(bytes_of(self.tensors()), 0, parameters)

    def train(self, X: Tensor, y: Tensor) -> None:
        """Minimise the loss over these samples."""
        self.optimiser = torch.optim.SGD(self.trained(), lr=self.settings.rate, momentum=self.settings.momentum)
        generator, size = self.generator(salt=2), self.settings.batch_size
        take = taking(self.step, X, y, replayed=self.replays, size=size, random=self.random)
        for _ in range(self.epochs(len(X))):
            order = torch.randperm(len(X), generator=generator).to(self.device)
            for batch in order.split(size):
                take(batch)

    def epochs(self, samples: int) -> int:
        """How often so many samples are gone over."""
        return max(self.settings.epochs, math.ceil(self.settings.steps / self.batches(samples)))

    def batches(self, samples: int) -> int:
        return math.ceil(samples / self.settings.batch_size)

    def step(self, X: Tensor, y: Tensor) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        self.loss(X, y).backward()
        self.before_step(X, y)
        self.optimiser.step()
        self.after_step()

    def _make_room(self, classes: int) -> None:
        if self.tasks == 0:
            self.network = self.build(classes).to(self.device)
            self.old = 0
        else:
            self.old = self.network.classes
        self.network.generator = self.generator(salt=1)
        self.network.grow(classes)

    def _samples(self, X: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32)).to(self.device)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose name begins so, by the rest of their name."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
