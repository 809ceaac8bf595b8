"""The base class of backbones: frozen networks with their own preprocessing, from images to maps."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.images.read import Framing


@dataclass(frozen=True)
class Preprocessing:
    """The way from an image to the input of a network: framing, then (byte − mean) / scale in each channel."""

    framing: Framing
    mean: tuple[float, float, float]
    scale: tuple[float, float, float]

    def __post_init__(self) -> None:
        numbers = (*self.mean, *self.scale)
        if len(self.mean) != 3 or len(numbers) != 6 or not all(map(math.isfinite, numbers)) or min(self.scale) <= 0:
            raise ConfigurationError(
                f"The mean {self.mean} and the scale {self.scale} must be three numbers each, the scale above 0."
            )

    def __call__(self, pixels: Tensor) -> Tensor:
        """Turn N×H×W×3 bytes into N×3×H×W numbers. In memory the channels stay last, which is also the fastest."""
        # Repeated over a whole row, because an operation on three numbers at a time is not vectorised.
        mean, scale = (
            torch.tensor(values, device=pixels.device).repeat(pixels.shape[2]) for values in (self.mean, self.scale)
        )
        return (pixels.flatten(2) - mean).div_(scale).view(pixels.shape).permute(0, 3, 1, 2)

    def resized(self, size: int) -> Preprocessing:
        """Return the same preprocessing for inputs of another size."""
        side = round(self.framing.side * size / self.framing.size)
        return replace(self, framing=Framing(side, size))

    @classmethod
    def of_unit_range(cls, framing: Framing, mean: tuple[float, ...], deviation: tuple[float, ...]) -> Preprocessing:
        """Convert the mean and deviation of pixels in [0, 1], as most networks publish them."""
        in_bytes = [tuple(255 * value for value in values) for values in (mean, deviation)]
        return cls(framing, *in_bytes)  # type: ignore[arg-type]


class Backbone(ABC):
    """A frozen network. Its maps, from shallow to deep, are N×C×h×w, or N×C where the network has pooled already."""

    name: str
    preprocessing: Preprocessing
    fingerprint: str  # a digest of the weights and of their use: where it differs, the features differ
    depths: int  # the number of maps
    defaults: Mapping[str, Any] = {}  # the options of `Extractor` that suit the network best
    pretrained_on: str | None = None  # the data behind the weights, reported beside every result
    seen_classes: tuple[str, ...] = ()  # classes of the pre-training, which cannot be learned later
    batch_size: int | None = None  # the only one that the network accepts; None: any

    @abstractmethod
    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        """Return the maps of preprocessed images at these depths, counted from 1. Threads may call it in parallel."""


def fingerprint(tensors: Mapping[str, Tensor], structure: str = "") -> str:
    """Return a digest of all weights and of the text that describes their structure.

    >>> fingerprint({"a": torch.zeros(2)}) == fingerprint({"a": torch.tensor([0.0, 1e-30])})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data if tensor.numel() else b"")
    digest.update(structure.encode())
    return digest.hexdigest()[:32]


def unsuitable(name: str, size: int, error: Exception) -> ConfigurationError:
    """Build the error for images that a network cannot compute with, from the error of the network."""
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return ConfigurationError(
        f"{name} cannot take images of {size}×{size} pixels ({reason}): they are too small for it, or it takes only "
        "one size. Choose another size, such as its own."
    )
