"""Trains a ResNet from scratch on classes that will not be learned later: the paper's protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from if2net import modelfile
from if2net.errors import ConfigurationError, unknown
from if2net.images.backbones import file
from if2net.images.backbones.resnet import ARCHITECTURES, ResNet
from if2net.study.pretraining.augmentation import mirrored, moved, zoomed

WARM_UP = 0.2  # of all steps


@dataclass(frozen=True)
class Recipe:
    """How a backbone is trained. Rotations: every image is shown in four directions, each a class of its own."""

    architecture: str = "resnet18"
    epochs: int = 60
    batch_size: int = 128
    rate: float = 0.2
    decay: float = 5e-4
    rotations: bool = True
    size: int = 32  # pixels on each side that images are brought to
    seed: int = 0

    def __post_init__(self) -> None:
        if self.architecture not in ARCHITECTURES:
            raise unknown("architecture", self.architecture, ARCHITECTURES)
        if self.size < 8:
            raise ConfigurationError(f"Images of {self.size} pixels are too small to be trained on; give at least 8.")
        if self.epochs < 1 or self.batch_size < 2:
            raise ConfigurationError("Pre-training needs at least one epoch, and two images a batch.")


# For photographs of few classes, the network that the paper names for them.
RECIPES = {
    "cifar100": Recipe(),
    "tiny-imagenet": Recipe(size=64, epochs=20),
    "cub200": Recipe("resnet56", size=96, epochs=100),
    "stanford-dogs": Recipe("resnet56", size=96, epochs=60),
}


def recipe_for(dataset: str, seed: int) -> Recipe:
    """How a backbone for this dataset is trained unless something else is asked for."""
    return replace(RECIPES.get(dataset, Recipe(size=64)), seed=seed)


@dataclass(frozen=True)
class Epoch:
    """How far it has come, for whoever shows progress."""

    number: int
    epochs: int
    loss: float
    accuracy: float  # on the training images, as they were shown


Show = Callable[[Epoch], None]


def held_out_classes(available: int, count: int, seed: int) -> list[int]:
    """The classes to pre-train on: the last of the order in which a scenario with this seed would learn them."""
    if not 1 < count < available:
        raise ConfigurationError(
            f"There are {available} classes: pre-train on 2 to {available - 1} of them, not {count}."
        )
    return sorted(np.random.default_rng(seed).permutation(available)[-count:].tolist())


def pretrain(
    pixels: np.ndarray,
    labels: np.ndarray,
    classes: Sequence[str],
    recipe: Recipe,
    out: Path,
    *,
    dataset: str,
    device: torch.device | str = "cpu",
    show: Show | None = None,
) -> None:
    """Train on N×H×H×3 bytes with labels 0 to C−1 and write the backbone to `out`; a killed training goes on."""
    training = Training(pixels, labels, len(classes), recipe, torch.device(device))
    facts = {
        "architecture": recipe.architecture,
        "dataset": dataset,
        "classes": list(classes),
        "size": recipe.size,
        "mean": training.mean,
        "scale": training.scale,
        "recipe": asdict(recipe),
    }
    checkpoint = out.with_name(f"{out.name}.checkpoint")
    start = _resume(training, checkpoint, facts) if checkpoint.exists() else 0
    for number in range(start, recipe.epochs):
        loss, accuracy = training.epoch(number)
        modelfile.write(checkpoint, training.tensors(), {**facts, "epoch": number + 1})
        if show is not None:
            show(Epoch(number + 1, recipe.epochs, loss, accuracy))
    file.write(out, training.trunk, facts)
    checkpoint.unlink(missing_ok=True)


class Training:
    """Images, a network and its optimiser. An epoch draws its randomness from the seed and its number alone."""

    def __init__(
        self, pixels: np.ndarray, labels: np.ndarray, classes: int, recipe: Recipe, device: torch.device
    ) -> None:
        self.recipe, self.device = recipe, device
        flat = pixels.reshape(-1, 3)
        self.mean, self.scale = flat.mean(axis=0).tolist(), np.maximum(flat.std(axis=0), 1.0).tolist()
        self.images = torch.from_numpy(pixels).permute(0, 3, 1, 2).to(device)
        self.labels = torch.from_numpy(labels).to(device)
        torch.manual_seed(recipe.seed)
        self.trunk = ResNet(recipe.architecture, recipe.size).to(device)
        self.trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.head = nn.Linear(self.trunk.outputs, classes * self._directions).to(device)
        self.parameters = [*self.trunk.parameters(), *self.head.parameters()]
        self.optimiser = torch.optim.SGD(
            self.parameters, recipe.rate, momentum=0.9, weight_decay=recipe.decay, nesterov=True
        )
        self.steps = max(1, len(labels) // recipe.batch_size)

    @property
    def _directions(self) -> int:
        return 4 if self.recipe.rotations else 1

    def epoch(self, number: int) -> tuple[float, float]:
        """One pass over the images; the mean loss and the accuracy."""
        generator = torch.Generator().manual_seed(1_000_003 * self.recipe.seed + number)
        order = torch.randperm(len(self.labels), generator=generator)
        self.trunk.train()
        losses, right, shown = [], torch.zeros((), dtype=torch.int64, device=self.device), 0
        for step, chosen in enumerate(order.split(self.recipe.batch_size)[: self.steps]):
            images, labels = self._batch(chosen, generator)
            for group in self.optimiser.param_groups:
                group["lr"] = self.recipe.rate * _share(number * self.steps + step, self.recipe.epochs * self.steps)
            with torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else nullcontext():
                scores = self.head(self.trunk(images).mean(dim=(2, 3)))
                loss = cross_entropy(scores, labels)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
            losses.append(loss.detach())
            right += (scores.argmax(dim=1) == labels).sum()  # not read before the end: the GPU need not wait
            shown += len(labels)
        return float(torch.stack(losses).mean()), int(right) / shown

    def tensors(self) -> dict[str, Tensor]:
        """All that the next epoch depends on."""
        found = {f"trunk.{name}": tensor for name, tensor in self.trunk.state_dict().items()}
        found |= {f"head.{name}": tensor for name, tensor in self.head.state_dict().items()}
        for number, parameter in enumerate(self.parameters):
            found[f"momentum.{number}"] = self.optimiser.state[parameter]["momentum_buffer"]
        return found

    def restore(self, tensors: dict[str, Tensor]) -> None:
        for prefix, module in (("trunk.", self.trunk), ("head.", self.head)):
            mine = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
            module.load_state_dict(mine)
        for number, parameter in enumerate(self.parameters):
            momentum = tensors[f"momentum.{number}"].to(self.device)
            self.optimiser.state[parameter]["momentum_buffer"] = torch.empty_like(parameter).copy_(momentum)

    def _batch(self, chosen: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Images mirrored and moved (or zoomed) at random, and in all four directions where the recipe says so."""
        mean, scale = (torch.tensor(values, device=self.device)[:, None, None] for values in (self.mean, self.scale))
        chosen = chosen.to(self.device)
        images = (self.images[chosen].float() - mean) / scale
        images = (moved if self.recipe.size <= 32 else zoomed)(mirrored(images, generator), generator)
        labels = self.labels[chosen]
        if self.recipe.rotations:
            images = torch.cat([images.rot90(turns, (2, 3)) for turns in range(4)])
            labels = torch.cat([4 * labels + turns for turns in range(4)])
        return images.contiguous(memory_format=torch.channels_last), labels


def _resume(training: Training, checkpoint: Path, facts: dict[str, Any]) -> int:
    """How many epochs are done already."""
    tensors, header = modelfile.read(checkpoint)
    epoch = header.pop("epoch", 0)
    if header != facts:
        raise ConfigurationError(
            f"{checkpoint} is of another training (other data, classes or settings); finish that one, "
            "delete the file or choose another --out."
        )
    training.restore(tensors)
    return epoch


def _share(step: int, steps: int) -> float:
    """Of the rate at this step: up in a straight line, then down along a cosine."""
    rise = WARM_UP * steps
    if step < rise:
        return (step + 1) / (rise + 1)
    return (1 + math.cos(math.pi * (step - rise) / max(1.0, steps - rise))) / 2
