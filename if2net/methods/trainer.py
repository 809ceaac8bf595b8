"""The one training loop of the methods that train a network; a method's file overrides only what is its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.methods.base import Costs, Method, bytes_of
from if2net.methods.network import Network


@dataclass(frozen=True)
class TrainerSettings:
    """The paper's optimiser (SGD, 0.01, batches of 64) and its three hidden layers; momentum is ours."""

    hidden: int = 400
    depth: int = 3
    rate: float = 0.01
    momentum: float = 0.9
    batch_size: int = 64
    epochs: int = 10
    steps: int = 1000  # at least so many steps a task, where it has few samples


class Trainer(Method):
    """Cross-entropy over the classes seen so far, one task after the other."""

    Settings = TrainerSettings
    network: Network  # made with the first task

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        samples, labels = self._samples(X), torch.from_numpy(y).to(self.device)
        self._make_room(int(labels.max()) + 1)
        self.begin(samples, labels)
        self._train(*self.training_data(samples, labels))
        self.finish(samples, labels)
        self.tasks += 1

    # What a method may override.

    def begin(self, X: Tensor, y: Tensor) -> None:
        """Before a task."""

    def training_data(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """What the task is trained on."""
        return X, y

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.network(X), y)

    def finish(self, X: Tensor, y: Tensor) -> None:
        """After a task."""

    # What it shares.

    @torch.no_grad()
    def predict(self, X: np.ndarray, *, task: int | None = None, transductive: bool = False) -> np.ndarray:
        found = [self.network(part).argmax(dim=1) for part in self._samples(X).split(4096)]
        return torch.cat(found).cpu().numpy()

    def tensors(self) -> dict[str, Tensor]:
        return {f"network.{name}": value.detach() for name, value in self.network.state_dict().items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        prefix = "network."
        state = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
        self.network = self._new_network(len(state["head.bias"]))
        self.network.load_state_dict(state)

    def costs(self) -> Costs:
        parameters = sum(parameter.numel() for parameter in self.network.parameters())
        return Costs(bytes_of(self.tensors()), 0, parameters)

    def _new_network(self, classes: int) -> Network:
        generator = torch.Generator().manual_seed(self.seed)
        network = Network(self.inputs, classes, self.settings.hidden, self.settings.depth, generator)
        return network.to(self.device)

    def _make_room(self, classes: int) -> None:
        if self.tasks == 0:
            self.network = self._new_network(classes)
        self.network.generator = self._generator(salt=1)
        self.network.grow(classes)

    def _generator(self, salt: int) -> torch.Generator:
        return torch.Generator().manual_seed((self.seed * 1009 + self.tasks) * 97 + salt)

    def _samples(self, X: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32)).to(self.device)

    def _train(self, X: Tensor, y: Tensor) -> None:
        optimiser = torch.optim.SGD(self.network.parameters(), lr=self.settings.rate, momentum=self.settings.momentum)
        generator = self._generator(salt=2)
        batches = math.ceil(len(X) / self.settings.batch_size)
        for _ in range(max(self.settings.epochs, math.ceil(self.settings.steps / batches))):
            order = torch.randperm(len(X), generator=generator).to(self.device)
            for batch in order.split(self.settings.batch_size):
                optimiser.zero_grad(set_to_none=True)
                self.loss(X[batch], y[batch]).backward()
                optimiser.step()
