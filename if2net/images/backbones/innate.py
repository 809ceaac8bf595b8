"""The innate encoders as backbones, for folders of small pictures."""

from __future__ import annotations

from types import MappingProxyType

import torch
from torch import Tensor

from if2net.encoder import INNATE
from if2net.encoder.innate import weights
from if2net.images.backbones.base import Backbone, Preprocessing
from if2net.images.read import Framing

SIZE = 32


class Innate(Backbone):
    """A network that has seen drawings only, for pictures of about 32×32 pixels."""

    preprocessing = Preprocessing(Framing(SIZE, SIZE), (0.0,) * 3, (255.0,) * 3)
    depths = 1
    defaults = MappingProxyType({"flip": True})
    pretrained_on = "drawings that a program makes"

    def __init__(self, name: str, device: torch.device | str) -> None:
        self.name, self.fingerprint = name, weights.HASHES[INNATE[name]][:32]
        self.network = weights.shipped(INNATE[name], torch.device(device))

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        return [self.network.rows(images) for _ in depths]
