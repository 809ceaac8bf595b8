"""The innate encoder as a learner uses it: rows of pixels in, features of the frozen network and random nodes out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net import device_memory
from if2net.encoder.dense import Tweak
from if2net.encoder.innate import weights
from if2net.encoder.innate.network import in_full_precision
from if2net.encoder.innate.nodes import RandomNodes
from if2net.encoder.innate.training import SIZES
from if2net.errors import InputError, ModelFileError
from if2net.pictures import Shape
from if2net.tensor_specs import TensorSpec, TensorSpecs

# The encoders of this kind, and the sizes of their networks.
INNATE = {"innate": "small", "innate-large": "large"}
# The largest values of pictures: of fractions, and of whole numbers of 4, 8, 12 and 16 bits.
FULL_SCALES = (1, 16, 255, 4095, 65535)
# Only pictures of these scales may have fractions. Others would be taken for much darker ones.
SCALES_OF_FRACTIONS = (1, 255)
# Pictures with a side outside these bounds are resized to that of the drawings. Smaller ones are worse as they are
# (results/innate_views.py).
SIDES, SIDE = (32, 48), 32
# The bounds in older files, which do not say whether their pictures are resized.
SIDES_OF_OLDER_FILES = (24, 48)
# Pictures in the network at a time, so that its maps fit into the cache of a CPU.
PICTURES = {"cpu": 128, "cuda": 1024}
# Random nodes beside the features of a network. More are better on held-back pictures (results/innate_widths.py), but
# the size of a model file grows with the square of the width. The large network is for the best figures.
NODES = {"small": 8192, "large": 16_384}
# Those of models in older files, which do not say how many they have.
NODES_OF_OLDER_FILES = {"small": 4352, "large": 16_384}


@dataclass(frozen=True)
class InnateConfig:
    """The size of the network, the shape of the pictures, whether their mirror images are used, and random nodes."""

    size: str
    shape: Shape
    flips: bool = True
    nodes: int = 0
    tweaked: ClassVar[bool] = False
    bias: ClassVar[bool] = True

    @classmethod
    def of(cls, name: str, shape: Shape, flips: bool | None, nodes: int | None = None) -> InnateConfig:
        """Return the encoder of this name. Without a choice, mirror images are used for colour pictures."""
        size = INNATE[name]
        flips = shape[2] > 1 if flips is None else flips
        return cls(size, shape, flips, NODES[size] if nodes is None else nodes)

    @property
    def features(self) -> int:
        """The number of features of the network."""
        return SIZES[self.size][0].features

    def width(self, inputs: int) -> int:
        """Return S, the number of columns of V: the nodes, the features of the network, and a column of ones."""
        return self.nodes + self.features + 1

    @property
    def resized(self) -> bool:
        """Whether pictures of this shape are resized to `SIDE`."""
        return _outside(self.shape, SIDES)

    @property
    def resized_in_older_files(self) -> bool:
        return _outside(self.shape, SIDES_OF_OLDER_FILES)

    def operations(self, inputs: int) -> int:
        """Return the floating-point operations for one picture."""
        return SIZES[self.size][0].operations(SIDE) * (2 if self.flips else 1)

    def check_memory(self, dtype: torch.dtype, device: torch.device) -> None:
        """Raise an error if G would take more memory than the device has."""
        needed, total = dtype.itemsize * self.width(0) ** 2, device_memory.total(device)
        if needed > total:
            raise InputError(
                f"Learning with {self.nodes:,} random nodes takes more than {needed / 1e9:,.1f} GB of memory, and "
                f"this machine has {total / 1e9:,.1f} GB; set a smaller width, such as {self.nodes // 2}, or 0 for "
                "none."
            )

    def layer_shapes(self, inputs: int) -> list[tuple[int, int]]:
        """Return nothing: there are no random layers. Only encoders with a tweak are asked, and this one has none."""
        return []

    def tensor_specs(self, inputs: int, dtype: torch.dtype) -> TensorSpecs:
        """Return the shapes and bounds of `InnateEncoder.tensors`."""
        specs = {
            "encoder.innate": TensorSpec((32,), torch.uint8, least=0),
            "encoder.full": TensorSpec((1,), dtype, least=min(FULL_SCALES), most=max(FULL_SCALES)),
        }
        if self.resized != self.resized_in_older_files:
            specs["encoder.resized"] = TensorSpec((1,), torch.uint8, least=0, most=1, needed=False)
        if self.nodes:
            specs["encoder.signs"] = TensorSpec(
                RandomNodes.shape(self.features, self.nodes), torch.int8, least=-1, most=1
            )
        return specs


@dataclass
class InnateEncoder:
    """An encoder from pictures to features of a network that has seen drawings only.

    It takes nothing from the first data but the largest value that a pixel can have. With flips, the features of a
    picture are the mean over the picture and its mirror image. Random nodes of these features come before them.

    >>> encoder = InnateEncoder(InnateConfig("small", (28, 28, 1), nodes=1000))
    >>> X = torch.rand(4, 784)
    >>> encoder.start(X)
    >>> encoder.encode(X, []).shape
    torch.Size([4, 4841])
    """

    config: InnateConfig
    full: Tensor | None = None  # the largest value that a pixel can have
    nodes: RandomNodes | None = None
    resized: bool | None = None  # whether the pictures are resized; None: as in older files
    # `check` compares the range of the values, so usual sizes are not needed.
    usual: ClassVar[None] = None
    clips: ClassVar[bool] = False
    has_units: ClassVar[bool] = False

    @property
    def inputs(self) -> int:
        return math.prod(self.config.shape)

    @property
    def width(self) -> int:
        """S, the number of columns of V."""
        return self.config.width(self.inputs)

    def start(self, X: Tensor, weights: Tensor | None = None) -> None:
        """Determine the value of a white pixel. The weights of the pictures have no influence."""
        lowest, highest = (float(end) for end in torch.aminmax(X))
        if lowest < 0 or highest > max(FULL_SCALES):
            raise InputError(
                f"These pictures have values from {lowest:g} to {highest:g}; scale them to values from 0 to 1, or "
                "give whole numbers from 0 to 255. Give other data as rows, with X.reshape(len(X), -1)."
            )
        full = next(scale for scale in FULL_SCALES if highest <= scale)
        if full not in SCALES_OF_FRACTIONS and bool((X.round() != X).any()):
            raise InputError(
                f"These pictures have fractions, and values up to {highest:g}. Scale or clip them to values from 0 "
                "to 1 or from 0 to 255, or give whole numbers."
            )
        self.config.check_memory(X.dtype, X.device)
        self.full = X.new_tensor([full])
        self.resized = self.config.resized
        if self.config.nodes:
            self.nodes = RandomNodes.draw(self.config.features, self.config.nodes).to(X.device)

    def tweak(self, batches: Iterable[Tensor]) -> Tweak:
        """Return no tweak, which this encoder does not have."""
        return []

    def encode(self, X: Tensor, tweak: Tweak) -> Tensor:
        """Return V, the representation of X."""
        return self.encoding(tweak)(X)

    def encoding(self, tweak: Tweak) -> Callable[[Tensor], Tensor]:
        """Return `encode` as a function for many batches."""
        return lambda X: torch.cat([self._represented(part) for part in X.split(PICTURES[X.device.type])])

    def counting(self, tweak: Tweak) -> Callable[[Tensor], Tensor]:
        """Return the function whose rows are counted: here the same as `encoding`."""
        return self.encoding(tweak)

    def fits(self, X: Tensor) -> Tensor:
        """Return, as a tensor on the device, whether X can be encoded."""
        lowest, highest = torch.aminmax(X)
        return (lowest >= 0) & (highest <= self._full) & ~self._too_dark(X).any()

    def check(self, X: Tensor) -> None:
        """Raise an error if X cannot be encoded."""
        if bool(self.fits(X)):
            return
        lowest, highest = (float(end) for end in torch.aminmax(X))
        if lowest >= 0 and 1 < highest <= self._full:
            raise InputError(
                "One of these pictures has fractions from 0 to 1, but those learned first have values from 0 to "
                f"{float(self._full):g}; scale it to the same range, or round it if it is black."
            )
        if lowest >= 0 and highest > self._full:
            raise InputError(
                f"These pictures have values from {lowest:g} to {highest:g}, but those learned first decided on "
                f"values from 0 to {float(self._full):g}, since theirs were no larger. If both have the same units, "
                "start a new learner with pictures of the full range; otherwise scale them to the same range."
            )
        raise InputError(
            f"These pictures have values from {lowest:g} to {highest:g}, but those learned first have values from 0 "
            f"to {float(self._full):g}; scale them to the same range."
        )

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the hash of the weights, which are part of the package, and what was decided with the first data."""
        yield "encoder.innate", self._hash
        yield "encoder.full", self._full
        if self.config.resized != self.config.resized_in_older_files:
            yield "encoder.resized", torch.tensor([self._resized], dtype=torch.uint8)
        if self.nodes is not None:
            yield "encoder.signs", self.nodes.signs

    def restore(self, tensors: dict[str, Tensor]) -> None:
        if not torch.equal(tensors["encoder.innate"].cpu(), self._hash):
            raise ModelFileError("It needs another innate encoder than the one of this version of if2net.")
        self.full = tensors["encoder.full"]
        resized = tensors.get("encoder.resized")
        self.resized = None if resized is None else bool(resized)
        if self.config.nodes:
            self.nodes = RandomNodes(tensors["encoder.signs"], self.config.features, self.config.nodes)

    @property
    def _hash(self) -> Tensor:
        return torch.tensor(list(bytes.fromhex(weights.HASHES[self.config.size])), dtype=torch.uint8)

    @property
    def _full(self) -> Tensor:
        if self.full is None:
            raise RuntimeError("The encoder has not been started; call start with the first data.")
        return self.full

    @property
    def _resized(self) -> bool:
        return self.config.resized_in_older_files if self.resized is None else self.resized

    def _too_dark(self, X: Tensor) -> Tensor:
        """Return which pictures have fractions of at most 1 where values up to 255 are expected.

        Each picture is looked at alone, so that none is refused or accepted because of the others.
        """
        return (self._full > 1) & (X.amax(dim=1) <= 1) & (X.round() != X).any(dim=1)

    def _represented(self, X: Tensor) -> Tensor:
        """Return V of a few pictures."""
        features = self._features(X)
        parts = [features] if self.nodes is None else [self.nodes(features), features]
        return torch.cat([*parts, torch.ones_like(features[:, :1])], dim=1)

    def _features(self, X: Tensor) -> Tensor:
        """Return the features of the network; with flips, their mean over both views."""
        network, pictures = weights.shipped(self.config.size, X.device), self._pictures(X)
        views = [pictures, pictures.flip(3)] if self.config.flips else [pictures]
        with in_full_precision():
            features = [network.rows(view) for view in views]
        return torch.stack(features).mean(dim=0).to(X.dtype)

    def _pictures(self, X: Tensor) -> Tensor:
        pictures = (X / self._full).float().view(-1, *self.config.shape).permute(0, 3, 1, 2)
        return F.interpolate(pictures, (SIDE, SIDE), mode="bilinear", antialias=True) if self._resized else pictures


def _outside(shape: Shape, bounds: tuple[int, int]) -> bool:
    """Return whether a side of the pictures is outside these bounds."""
    least, most = bounds
    return not all(least <= side <= most for side in shape[:2])
