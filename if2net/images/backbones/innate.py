"""The innate encoders as backbones, for folders of small pictures."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from if2net.encoder import INNATE
from if2net.encoder.innate import weights
from if2net.encoder.innate.network import Network, in_full_precision
from if2net.images.backbones.base import Backbone, Preprocessing
from if2net.images.read import Framing

SIZE = 32
DRAWINGS = "drawings that a program makes"


class Innate(Backbone):
    """A network that was trained on drawings, for pictures of about 32×32 pixels."""

    preprocessing = Preprocessing(Framing(SIZE, SIZE), (0.0,) * 3, (255.0,) * 3)
    depths = 1
    defaults = MappingProxyType({"flip": True})

    def __init__(self, name: str, network: Network, digest: str, pretrained_on: str = DRAWINGS) -> None:
        self.name, self.network, self.fingerprint, self.pretrained_on = name, network, digest[:32], pretrained_on

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        with in_full_precision():
            return [self.network.rows(images) for _ in depths]


def shipped(name: str, device: torch.device | str) -> Innate:
    """Return one of the networks that are part of the package."""
    size = INNATE[name]
    return Innate(name, weights.shipped(size, torch.device(device)), weights.HASHES[size])


def read(path: Path, header: dict[str, Any], device: torch.device | str) -> Innate:
    """Return the network of a file of innate weights, which may have seen other data after the drawings."""
    network = weights.read(path, device, digest=header.get("hash"))
    more = [header["then"]] if isinstance(header.get("then"), str) else []
    return Innate(path.name, network, str(header["hash"]), ", then ".join([DRAWINGS, *more]))
