"""The innate encoder's network: a small residual network and the read-out of its maps."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from if2net.errors import InputError


@dataclass(frozen=True)
class Plan:
    """The shape of the network and of its read-out; the tuples have one entry per stage."""

    widths: tuple[int, ...]  # channels; every stage but the first halves the picture
    # Residual blocks. Only the first stage may have none; it is then the first convolution alone.
    blocks: tuple[int, ...] = (1, 1, 1, 1)
    stride: int = 1  # of the first convolution: 1 keeps every pixel, 2 is about four times as fast
    grids: tuple[int, ...] = (5, 4, 3, 1)  # side of the grid to which a map is averaged; 0 leaves the stage out

    @property
    def features(self) -> int:
        """Number of features per picture."""
        return sum(width * grid * grid for width, grid in zip(self.widths, self.grids, strict=True))

    def operations(self, side: int) -> int:
        """Return the floating-point operations for a picture with this side, without those of shortcuts."""
        side = math.ceil(side / self.stride)
        total, inputs = 2 * 27 * self.widths[0] * side**2, self.widths[0]
        for stage, (width, depth) in enumerate(zip(self.widths, self.blocks, strict=True)):
            side = math.ceil(side / 2) if stage else side
            for _ in range(depth):
                total += 2 * 9 * (inputs + width) * width * side**2
                inputs = width
        return total


class Network(nn.Module):
    """A residual network that returns the map of every stage.

    Parameters
    ----------
    plan : Plan
        Widths, depths, stride and grids.
    folded : bool
        Build the convolutions with a bias and without normalisation, for inference.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, plan: Plan, *, folded: bool = False) -> None:
        super().__init__()
        self.plan = plan
        self.stem = _Convolution(3, plan.widths[0], 3, plan.stride, folded)
        self.stages = nn.ModuleList()
        inputs = plan.widths[0]
        for stage, (width, depth) in enumerate(zip(plan.widths, plan.blocks, strict=True)):
            blocks = nn.Sequential()
            for place in range(depth):
                blocks.append(_Block(inputs, width, 2 if stage and place == 0 else 1, folded))
                inputs = width
            self.stages.append(blocks)
        self.register_buffer("mean", torch.zeros(plan.features))
        self.register_buffer("spread", torch.ones(plan.features))

    def forward(self, pictures: Tensor) -> list[Tensor]:
        """Return one map per stage for pictures of shape (n, 3, height, width) with values in [0, 1]."""
        x = F.relu(self.stem(pictures))
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        return maps

    @torch.no_grad()
    def features(self, pictures: Tensor) -> Tensor:
        """Return one row of features per picture: the maps, averaged over their grids and standardised.

        Parameters
        ----------
        pictures : Tensor, shape (n, 3, height, width) or (n, 1, height, width)
            uint8, or floating-point numbers from 0 to 1; others raise an InputError. Any height and width.

        Returns
        -------
        Tensor of float32, shape (n, plan.features)
        """
        if pictures.ndim != 4 or pictures.shape[1] not in (1, 3) or 0 in pictures.shape:
            raise InputError(f"Pictures must have the shape (n, 1 or 3, height, width), not {tuple(pictures.shape)}.")
        if pictures.dtype == torch.uint8:
            pictures = pictures / 255
        elif not pictures.is_floating_point():
            raise InputError(f"Pictures must be uint8 or floating-point numbers, not {pictures.dtype}.")
        lowest, highest = torch.aminmax(pictures)
        if not (lowest >= 0 and highest <= 1):  # also for NaN
            raise InputError("Pictures of floating-point numbers must have values from 0 to 1; scale them first.")
        return self.rows(pictures)

    @torch.no_grad()
    def rows(self, pictures: Tensor) -> Tensor:
        """Return the features of floating-point pictures that are known to be good."""
        weights = self.stem.kernel.weight
        pictures = pictures.to(weights.device, weights.dtype).expand(-1, 3, -1, -1)
        maps = self(pictures.contiguous(memory_format=torch.channels_last))
        pairs = zip(maps, self.plan.grids, strict=True)
        rows = torch.cat([F.adaptive_avg_pool2d(m, grid).float().flatten(1) for m, grid in pairs if grid], 1)
        return (rows - self.mean) / self.spread

    def calibrate(self, rows: Tensor) -> None:
        """Standardise the features from now on: these rows, of many drawings, get mean 0 and spread 1 or less.

        No real picture takes part, so the features of a picture never depend on other pictures.
        """
        self.mean.copy_(rows.mean(0))
        self.spread.copy_(rows.std(0) + 0.01 * rows.std())  # a feature that hardly varies must not be magnified


class _Block(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int, folded: bool) -> None:
        super().__init__()
        self.first = _Convolution(inputs, outputs, 3, stride, folded)
        self.second = _Convolution(outputs, outputs, 3, 1, folded)
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else _Convolution(inputs, outputs, 1, stride, folded)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class _Convolution(nn.Module):
    """A convolution and its batch normalisation, which is the identity once it is folded into the convolution."""

    def __init__(self, inputs: int, outputs: int, side: int, stride: int, folded: bool) -> None:
        super().__init__()
        self.kernel = nn.Conv2d(inputs, outputs, side, stride, side // 2, bias=folded)
        self.norm = nn.Identity() if folded else nn.BatchNorm2d(outputs, momentum=0.02)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.kernel(x))


def fold(network: Network) -> Network:
    """Return a copy for inference, with the normalisation folded into the convolutions."""
    folded = deepcopy(network).eval()
    for module in folded.modules():
        if isinstance(module, _Convolution) and isinstance(module.norm, nn.BatchNorm2d):
            module.kernel, module.norm = fuse_conv_bn_eval(module.kernel, module.norm), nn.Identity()
    return for_inference(folded)


def in_full_precision() -> AbstractContextManager[None]:
    """Compute without TF32, with which a picture would have noticeably different features on a GPU and on a CPU."""
    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)


def for_inference(network: Network) -> Network:
    """Put a network in evaluation mode, without gradients, channels last: the fastest order on a CPU."""
    return network.eval().requires_grad_(False).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
