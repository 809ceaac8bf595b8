"""Puts inputs on a scale that random weights can work with; learned from the first data, then frozen."""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.errors import unknown

MODES = ("auto", "feature", "common", "none")

# A standardised value beyond this says only "far out": a class that comes later may use features that hardly
# moved in the first data, and their responses would drown all others.
CLIP = 4.0


class Standardiser:
    """(x − mean) / scale.

    `feature` gives every feature its own scale, for columns in different units; `common` gives all of them one,
    which keeps the relative sizes that mean something in images and spectra. `auto` looks at the first data:
    columns whose ranges differ a hundredfold are in different units.

    >>> pixels = torch.tensor([[0.0, 0.0], [1.0, 0.5]])
    >>> Standardiser.fit(pixels, "auto").scale.unique().numel()
    1
    """

    def __init__(self, mean: Tensor, scale: Tensor, clip: float) -> None:
        self.mean, self.scale, self.clip = mean, scale, clip

    @classmethod
    def fit(cls, X: Tensor, mode: str) -> Standardiser:
        if mode not in MODES:
            raise unknown("way to standardise", mode, MODES)
        if mode == "none":
            return cls(torch.zeros_like(X[0]), torch.ones_like(X[0]), float("inf"))
        wide = X.double()
        mean = wide.mean(dim=0)
        variance = (wide - mean).square().mean(dim=0)
        if mode == "auto":
            mode = "feature" if _different_units(wide) else "common"
        scale = variance.mean().sqrt().expand_as(mean) if mode == "common" else variance.sqrt()
        # What never moved, or a single sample, has no spread of its own: take its size instead.
        scale = torch.where(scale > 1e-12 * mean.abs() + 1e-30, scale, mean.abs().clamp(min=1.0))
        clip = CLIP if mode == "feature" else float("inf")
        return cls(mean.to(X.dtype), scale.to(X.dtype).contiguous(), clip)

    def __call__(self, X: Tensor) -> Tensor:
        standardised = (X - self.mean) / self.scale
        return standardised if self.clip == float("inf") else standardised.clamp(-self.clip, self.clip)


def _different_units(X: Tensor) -> bool:
    """Whether more than one moving feature in twenty has under a hundredth of the largest range."""
    ranges = X.amax(dim=0) - X.amin(dim=0)
    moving = ranges[ranges > 0]
    if moving.numel() == 0:
        return False
    return bool((moving < moving.max() / 100).double().mean() > 0.05)
