"""What every backbone is: a frozen network with its own preprocessing, from images to maps at several depths."""

from __future__ import annotations

import hashlib
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
    """How an image becomes a network's input: framed, then (byte − mean) / scale in every channel."""

    framing: Framing
    mean: tuple[float, float, float]
    scale: tuple[float, float, float]

    def __call__(self, pixels: Tensor) -> Tensor:
        """N×H×W×3 bytes to N×3×H×W numbers; the memory stays as it is, channels last, which is also the fastest."""
        # Whole rows at once: with three numbers at a time nothing is vectorised.
        mean, scale = (
            torch.tensor(values, device=pixels.device).repeat(pixels.shape[2]) for values in (self.mean, self.scale)
        )
        return (pixels.flatten(2) - mean).div_(scale).view(pixels.shape).permute(0, 3, 1, 2)

    def resized(self, size: int) -> Preprocessing:
        """The same for inputs of another size."""
        side = round(self.framing.side * size / self.framing.size)
        return replace(self, framing=Framing(side, size))

    @classmethod
    def of_unit_range(cls, framing: Framing, mean: tuple[float, ...], deviation: tuple[float, ...]) -> Preprocessing:
        """From the mean and deviation of pixels in [0, 1], as they are usually printed."""
        first, second = (tuple(255 * value for value in values) for values in (mean, deviation))
        return cls(framing, first, second)  # type: ignore[arg-type]


class Backbone(ABC):
    """Images in, maps out from shallow to deep: N×C×h×w, or N×C where the network has pooled already."""

    name: str
    preprocessing: Preprocessing
    fingerprint: str  # of the weights and of how they are used: where it differs, features differ
    former_fingerprint: str | None = None  # the one that older models remember, where it has changed since
    depths: int  # how many maps there are
    defaults: Mapping[str, Any] = {}  # options of `Extractor` that suit it best
    pretrained_on: str | None = None  # what the weights have seen, to be said beside every number
    seen_classes: tuple[str, ...] = ()  # classes that may not be learned later: the network knows them already
    batch_size: int | None = None  # where the network can take no other

    @abstractmethod
    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        """The maps at these depths, counted from 1, for preprocessed images. Several threads may call it at once."""


def fingerprint(tensors: Mapping[str, Tensor], structure: str = "") -> str:
    """One short text for all weights; it changes with any bit of them, and with what is said of their structure.

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
    """The error for images that a network cannot compute with, whatever it has raised itself."""
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return ConfigurationError(
        f"{name} cannot take images of {size}×{size} pixels ({reason}): they are too small for it, or it takes one "
        "size alone. Choose another size, such as the one it was made for."
    )
