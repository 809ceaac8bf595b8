"""The innate encoder as a learner uses it: rows of pixels in, features of the frozen network out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from if2net.contents import Contents, Part
from if2net.encoder.dense import Tweak
from if2net.encoder.innate import weights
from if2net.encoder.innate.training import SIZES
from if2net.errors import InputError, ModelFileError
from if2net.pictures import Shape

# The encoders of this kind, and the sizes of their networks.
INNATE = {"innate": "small", "innate-large": "large"}
# The largest values of pictures: of fractions, and of whole numbers of 4, 8, 12 and 16 bits.
FULL_SCALES = (1, 16, 255, 4095, 65535)
# Pictures with a side outside these bounds are resized to that of the drawings.
SIDES, SIDE = (24, 48), 32
# Pictures in the network at a time, so that its maps fit into the cache of a CPU.
PICTURES = {"cpu": 128, "cuda": 1024}


@dataclass(frozen=True)
class InnateConfig:
    """The size of the network, the shape of the pictures, and whether their mirror images are used as well."""

    size: str
    shape: Shape
    flips: bool = True
    tweaked: ClassVar[bool] = False

    @classmethod
    def of(cls, name: str, shape: Shape, flips: bool | None) -> InnateConfig:
        """Return the encoder of this name. Without a choice, mirror images are used for colour pictures."""
        return cls(INNATE[name], shape, shape[2] > 1 if flips is None else flips)

    def width(self, inputs: int) -> int:
        """Return S, the number of columns of V: the features of the network, and a column of ones."""
        return SIZES[self.size][0].features + 1

    def layer_shapes(self, inputs: int) -> list[tuple[int, int]]:
        """Return nothing: there are no random layers."""
        return []

    def contents(self, inputs: int, dtype: torch.dtype) -> Contents:
        """Return what `InnateEncoder.tensors` yields."""
        return {
            "encoder.innate": Part((32,), torch.uint8, least=0),
            "encoder.full": Part((1,), dtype, least=min(FULL_SCALES), most=max(FULL_SCALES)),
        }


@dataclass
class InnateEncoder:
    """An encoder from pictures to features of a network that has seen drawings only.

    It takes nothing from the first data but the largest value that a pixel can have. With flips, the representation
    of a picture is the mean over the picture and its mirror image.

    >>> encoder = InnateEncoder(InnateConfig("small", (28, 28, 1)))
    >>> X = torch.rand(4, 784)
    >>> encoder.start(X)
    >>> encoder.encode(X, []).shape
    torch.Size([4, 3841])
    """

    config: InnateConfig
    full: Tensor | None = None  # the largest value that a pixel can have
    # `check` knows the range of the values, so sizes that are usual are not needed.
    usual: ClassVar[None] = None
    clips: ClassVar[bool] = False

    @property
    def inputs(self) -> int:
        return math.prod(self.config.shape)

    @property
    def width(self) -> int:
        """S, the number of columns of V."""
        return self.config.width(self.inputs)

    def start(self, X: Tensor, weights: Tensor | None = None) -> None:
        """Find out which value stands for white. The weights of the pictures do not matter for it."""
        lowest, highest = (float(end) for end in torch.aminmax(X))
        if lowest < 0 or highest > max(FULL_SCALES):
            raise InputError(
                f"These pictures have values from {lowest:g} to {highest:g}; scale them to values from 0 to 1, or "
                "give whole numbers from 0 to 255. Give other data as rows, with X.reshape(len(X), -1)."
            )
        self.full = X.new_tensor([next(scale for scale in FULL_SCALES if highest <= scale)])

    def tweak(self, batches: Iterable[Tensor]) -> Tweak:
        """Return no tweak, which this encoder does not have."""
        return []

    def encode(self, X: Tensor, tweak: Tweak) -> Tensor:
        """Return V, the representation of X."""
        return self.encoding(tweak)(X)

    def encoding(self, tweak: Tweak) -> Callable[[Tensor], Tensor]:
        """Return `encode` as a function for many batches."""
        return lambda X: _with_constant(torch.cat([views.mean(dim=1) for views in self._views(X)]), 1)

    def counting(self, tweak: Tweak) -> Callable[[Tensor], Tensor]:
        """Return a function like `encoding`. With flips, each row is followed by half the difference of both views.

        Rows v and w with one target count as their mean with this target and (v − w)/2 with the target zero: for half
        the sums of vvᵀ and wwᵀ, and of v and w, that is the same.
        """
        if not self.config.flips:
            return self.encoding(tweak)

        def rows(X: Tensor) -> Tensor:
            pairs = torch.cat(list(self._views(X)))
            means, halves = pairs.mean(dim=1), (pairs[:, 0] - pairs[:, 1]) / 2
            return torch.stack([_with_constant(means, 1), _with_constant(halves, 0)], dim=1).flatten(0, 1)

        return rows

    def fits(self, X: Tensor) -> Tensor:
        """Return, as a tensor on the device, whether X can be encoded."""
        lowest, highest = torch.aminmax(X)
        return (lowest >= 0) & (highest <= self._full) & ~self._too_dark(X, highest)

    def check(self, X: Tensor) -> None:
        """Raise an error if X cannot be encoded."""
        if bool(self.fits(X)):
            return
        lowest, highest = (float(end) for end in torch.aminmax(X))
        raise InputError(
            f"These pictures have values from {lowest:g} to {highest:g}, but those learned first have values from 0 "
            f"to {float(self._full):g}; scale them to the same range."
        )

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the hash of the weights, which are themselves part of the package, and the scale of the values."""
        yield "encoder.innate", self._hash
        yield "encoder.full", self._full

    def restore(self, tensors: dict[str, Tensor]) -> None:
        if not torch.equal(tensors["encoder.innate"].cpu(), self._hash):
            raise ModelFileError("It needs another innate encoder than the one of this version of if2net.")
        self.full = tensors["encoder.full"]

    @property
    def _hash(self) -> Tensor:
        return torch.tensor(list(bytes.fromhex(weights.HASHES[self.config.size])), dtype=torch.uint8)

    @property
    def _full(self) -> Tensor:
        if self.full is None:
            raise RuntimeError("The encoder has not been started; call start with the first data.")
        return self.full

    def _too_dark(self, X: Tensor, highest: Tensor) -> Tensor:
        """Return whether X has fractions of at most 1 where whole numbers up to 255 are expected."""
        return (self._full > 1) & (highest <= 1) & (X.round() != X).any()

    def _views(self, X: Tensor) -> Iterator[Tensor]:
        """Yield features by picture and view."""
        network = weights.shipped(self.config.size, X.device)
        for part in X.split(PICTURES[X.device.type]):
            pictures = self._pictures(part)
            views = [pictures, pictures.flip(3)] if self.config.flips else [pictures]
            # With TF32, a picture would have noticeably different features on a GPU and on a CPU.
            with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
                features = [network.rows(view) for view in views]
            yield torch.stack(features, dim=1).to(X.dtype)

    def _pictures(self, X: Tensor) -> Tensor:
        pictures = (X / self._full).float().view(-1, *self.config.shape).permute(0, 3, 1, 2)
        if all(SIDES[0] <= side <= SIDES[1] for side in self.config.shape[:2]):
            return pictures
        return F.interpolate(pictures, (SIDE, SIDE), mode="bilinear", antialias=True)


def _with_constant(V: Tensor, value: float) -> Tensor:
    return F.pad(V, (0, 1), value=value)
