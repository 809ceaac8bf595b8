"""Pre-training of a ResNet from scratch on classes that are not learned later, the paper's protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from if2net import modelfile
from if2net.errors import ConfigurationError, ModelFileError, unknown
from if2net.images.backbones import file
from if2net.images.backbones.resnet import ARCHITECTURES, ResNet
from if2net.progress import Show
from if2net.study.pretraining.augmentation import crop, mirror, shift

WARM_UP = 0.2  # the share of steps with a rising rate


@dataclass(frozen=True)
class Recipe:
    """The settings of a pre-training.

    With `rotations`, each image is shown in four directions, and each direction is a class of its own.
    """

    architecture: str = "resnet18"
    epochs: int = 60
    batch_size: int = 128
    rate: float = 0.2
    decay: float = 5e-4
    rotations: bool = True
    smoothing: float = 0.0  # label smoothing
    size: int = 32  # side of the scaled images, in pixels
    seed: int = 0

    def __post_init__(self) -> None:
        if self.architecture not in ARCHITECTURES:
            raise unknown("architecture", self.architecture, ARCHITECTURES)
        if self.size < 8:
            raise ConfigurationError(f"Images of {self.size} pixels are too small for training; give at least 8.")
        if self.epochs < 1 or self.batch_size < 2:
            raise ConfigurationError("Pre-training needs at least one epoch, and two images per batch.")
        if not 0 <= self.smoothing < 1:
            raise ConfigurationError(f"The smoothing of labels must be at least 0 and below 1, not {self.smoothing}.")


# ResNet-56 for CUB and Stanford Dogs, as in the paper.
RECIPES = {
    "cifar100": Recipe(),
    "tiny-imagenet": Recipe(size=64, epochs=20),
    "cub200": Recipe("resnet56", size=96, epochs=100),
    "stanford-dogs": Recipe("resnet56", size=96, epochs=60),
}


def recipe_for(dataset: str, seed: int) -> Recipe:
    """Return the default recipe for a data set."""
    return replace(RECIPES.get(dataset, Recipe(size=64)), seed=seed)


def held_out_classes(available: int, count: int, seed: int) -> list[int]:
    """Return the classes to pre-train on: the last ones in the class order of a scenario with this seed."""
    if not 1 < count < available:
        raise ConfigurationError(
            f"There are {available} classes; pre-train on 2 to {available - 1} of them, not {count}."
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
    """Train on N×H×H×3 bytes with labels 0 to C−1, and write the backbone to `out`.

    Each epoch writes a checkpoint beside `out`. After an interruption, the same call continues from it. `show` gets
    the number of finished epochs, the number of all epochs, and the loss and accuracy on augmented training images.
    """
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
            show(number + 1, recipe.epochs, f"loss {loss:.3f}, accuracy {100 * accuracy:.1f} %")
    file.write(out, training.trunk, facts)
    checkpoint.unlink(missing_ok=True)


class Training:
    """Images, a network and its optimiser. The random numbers of an epoch depend only on the seed and its number."""

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
        self.head = nn.Linear(self.trunk.outputs, classes * (4 if recipe.rotations else 1)).to(device)
        self.parameters = [*self.trunk.parameters(), *self.head.parameters()]
        self.optimiser = torch.optim.SGD(
            self.parameters, recipe.rate, momentum=0.9, weight_decay=recipe.decay, nesterov=True
        )
        self.steps = max(1, len(labels) // recipe.batch_size)

    def epoch(self, number: int) -> tuple[float, float]:
        """Make one pass over the images; return the mean loss and the accuracy."""
        generator = torch.Generator().manual_seed(1_000_003 * self.recipe.seed + number)
        order = torch.randperm(len(self.labels), generator=generator)
        self.trunk.train()
        losses, correct, images_seen = [], torch.zeros((), dtype=torch.int64, device=self.device), 0
        for step, chosen in enumerate(order.split(self.recipe.batch_size)[: self.steps]):
            images, labels = self._batch(chosen, generator)
            share = _rate_share(number * self.steps + step, self.recipe.epochs * self.steps)
            for group in self.optimiser.param_groups:
                group["lr"] = self.recipe.rate * share
            with torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else nullcontext():
                scores = self.head(self.trunk(images).mean(dim=(2, 3)))
                loss = cross_entropy(scores, labels, label_smoothing=self.recipe.smoothing)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
            losses.append(loss.detach())
            correct += (scores.argmax(dim=1) == labels).sum()  # read only at the end, so that the GPU does not wait
            images_seen += len(labels)
        return float(torch.stack(losses).mean()), int(correct) / images_seen

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors that the next epoch depends on."""
        tensors = {f"trunk.{name}": tensor for name, tensor in self.trunk.state_dict().items()}
        tensors |= {f"head.{name}": tensor for name, tensor in self.head.state_dict().items()}
        for number, parameter in enumerate(self.parameters):
            tensors[f"momentum.{number}"] = self.optimiser.state[parameter]["momentum_buffer"]
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take over the tensors of a checkpoint."""
        for prefix, module in (("trunk.", self.trunk), ("head.", self.head)):
            module.load_state_dict(
                {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
            )
        for number, parameter in enumerate(self.parameters):
            momentum = tensors[f"momentum.{number}"].to(self.device)
            self.optimiser.state[parameter]["momentum_buffer"] = torch.empty_like(parameter).copy_(momentum)

    def _batch(self, chosen: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return augmented images and their labels, in all four directions if the recipe asks for rotations."""
        mean, scale = (torch.tensor(values, device=self.device)[:, None, None] for values in (self.mean, self.scale))
        chosen = chosen.to(self.device)
        images = (self.images[chosen].float() - mean) / scale
        images = (shift if self.recipe.size <= 32 else crop)(mirror(images, generator), generator)
        labels = self.labels[chosen]
        if self.recipe.rotations:
            images = torch.cat([images.rot90(turns, (2, 3)) for turns in range(4)])
            labels = torch.cat([4 * labels + turns for turns in range(4)])
        return images.contiguous(memory_format=torch.channels_last), labels


def _resume(training: Training, checkpoint: Path, facts: dict[str, Any]) -> int:
    """Restore a checkpoint; return its number of finished epochs."""
    try:
        tensors, header = modelfile.read(checkpoint)
        epoch = header.pop("epoch", 0)
        if header != facts:
            raise ConfigurationError(
                f"{checkpoint} belongs to another training (other data, classes or settings); finish that one, "
                "delete the file, or choose another output file."
            )
        if type(epoch) is not int or not 0 <= epoch <= training.recipe.epochs:
            raise ModelFileError(f"There is no epoch {epoch}.")
        training.restore(tensors)
    except torch.OutOfMemoryError:
        raise
    except (ModelFileError, KeyError, RuntimeError) as error:
        raise ModelFileError(
            f"The checkpoint {checkpoint} is damaged. Delete it; the training then starts again."
        ) from error
    return epoch


def _rate_share(step: int, steps: int) -> float:
    """Return the rate at a step as a share of the full rate: a linear rise, then a cosine."""
    rise = WARM_UP * steps
    if step < rise:
        return (step + 1) / (rise + 1)
    return (1 + math.cos(math.pi * (step - rise) / max(1.0, steps - rise))) / 2
