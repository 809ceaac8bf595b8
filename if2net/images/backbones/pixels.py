"""No network at all: the pixels of a small image are the features, for comparison."""

from __future__ import annotations

from torch import Tensor

from if2net.images.backbones.base import Backbone, Preprocessing
from if2net.images.read import Framing

SIZE = 32


class Pixels(Backbone):
    """Images of 32×32 pixels as rows of 3,072 numbers in [0, 1]."""

    name = "pixels"
    preprocessing = Preprocessing(Framing(SIZE, SIZE), (0.0,) * 3, (255.0,) * 3)
    fingerprint = "pixels"
    depths = 1

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        return [images.flatten(1) for _ in depths]
