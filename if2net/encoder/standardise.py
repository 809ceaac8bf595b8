"""The scale of the inputs: fitted on the first data, then frozen."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

MODES = ("auto", "feature", "common", "intensity", "none")

# Standardised values are clipped here. A later class may use features that hardly moved in the first data, and their
# responses would dominate all others.
CLIP = 4.0

# The same for a common scale, far above the values of images. Without it, a column that is zero in a small first
# batch and holds large amounts later would dominate all others ("rare_amounts" in benchmarks/bad_batches.json).
WIDE_CLIP = 30.0

# Intensities are divided by this power of their sample's length: 1 would remove brightness, 0 would keep it. On
# held-back training data one half was better than 0 on MNIST and FashionMNIST, but not on digits
# (results/encoder/*-standardise.json).
BRIGHTNESS_POWER = 0.5

# Numbers converted to float64 at a time: on a CPU as many as fit into its cache.
PIECE = {"cpu": 1 << 18, "cuda": 1 << 25}


class Standardiser:
    """(x − mean) / scale.

    "feature" gives each feature its own scale, for columns in different units. "common" gives all of them one scale,
    which keeps the relative sizes in images and spectra. "intensity" does the same after dividing each sample by the
    root of its length, so that bright and dark samples become more alike. "auto" looks at the first data: columns
    whose ranges differ a hundredfold are in different units, and numbers that are never negative are intensities.

    >>> pixels = torch.tensor([[0.0, 0.0], [1.0, 0.5]])
    >>> Standardiser.fit(pixels, "auto").scale.unique().numel()
    1
    """

    def __init__(self, mean: Tensor, scale: Tensor, clip: float, power: float = 0.0) -> None:
        self.mean, self.scale, self.clip, self.power = mean, scale, clip, power
        self.does_nothing = power == 0 and clip == float("inf") and not mean.any() and bool((scale == 1).all())
        self.usual = None if self.does_nothing else self._usual()

    @classmethod
    def fit(cls, X: Tensor, mode: str, weights: Tensor | None = None) -> Standardiser:
        """Return the standardiser for these samples, which may have weights."""
        if mode == "none":
            return cls(torch.zeros_like(X[0]), torch.ones_like(X[0]), float("inf"))
        if mode == "auto":
            mode = _mode_for(X)
        power = BRIGHTNESS_POWER if mode == "intensity" else 0.0
        mean = _mean(lambda part: _evened(part, power), X, weights)
        variance = _mean(lambda part: (_evened(part, power) - mean).square(), X, weights)
        size = mean.abs()
        if mode != "feature":
            variance, size = variance.mean().expand_as(mean), size.max().expand_as(mean)
        # A constant feature, or a single sample, has no spread: its size is used instead.
        scale = variance.sqrt()
        scale = torch.where(scale > 1e-12 * size + 1e-30, scale, size.clamp(min=1.0))
        clip = CLIP if mode == "feature" else WIDE_CLIP
        return cls(mean.to(X.dtype), scale.to(X.dtype).contiguous(), clip, power)

    @property
    def has_units(self) -> bool:
        """Whether each feature has its own scale."""
        return self.clip == CLIP

    def _usual(self) -> Tensor:
        """Return the root mean square of each feature of the first data, in its own units.

        With a common scale, a feature of zeros has no usual size: infinity.
        With y = x / ‖x‖^p, the length of x is that of y to the power of 1 / (1 − p).
        """
        squares = self.mean.double().square() + self.scale.double().square()
        if self.has_units:  # a feature that was constant may be as large as any other
            constant = self.scale == self.mean.abs().clamp(min=1.0)
            squares = torch.where(constant, squares.max(), squares)
        usual = squares.sqrt() * squares.sum().pow(self.power / (2 - 2 * self.power))
        # A mean of exactly 0 is nearly always that of zeros alone. If all means are 0, the features are centred.
        zero = self.mean == 0
        if not self.has_units and self.clip < float("inf") and not zero.all():
            usual = usual.masked_fill(zero, float("inf"))
        return usual.to(self.scale.dtype)

    def __call__(self, X: Tensor) -> Tensor:
        standardised = self.unclipped(X)
        return standardised if self.clip == float("inf") else standardised.clamp(-self.clip, self.clip)

    def unclipped(self, X: Tensor) -> Tensor:
        return X if self.does_nothing else (_evened(X, self.power) - self.mean) / self.scale


def _mean(function: Callable[[Tensor], Tensor], X: Tensor, weights: Tensor | None) -> Tensor:
    """Return the mean of each column of function(X) in float64, where the rows may have weights."""
    rows = max(1, PIECE[X.device.type] // X.shape[1])
    parts = (function(part.double()) for part in X.split(rows))
    if weights is None:
        return torch.stack([part.sum(dim=0) for part in parts]).sum(dim=0) / len(X)
    each = weights.double().split(rows)
    return torch.stack([some @ part for some, part in zip(each, parts, strict=True)]).sum(dim=0) / weights.sum()


def _mode_for(X: Tensor) -> str:
    if _different_units(X):
        return "feature"
    return "intensity" if bool((X >= 0).all()) else "common"


def _evened(X: Tensor, power: float) -> Tensor:
    """Return x / ‖x‖^p; a sample of zeros stays zero."""
    if power == 0:
        return X
    largest = X.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(X.dtype).tiny)
    length = largest * (X / largest).norm(dim=1, keepdim=True)  # so that squares neither overflow nor vanish
    return X / length.clamp(min=torch.finfo(X.dtype).tiny).pow(power)


def _different_units(X: Tensor) -> bool:
    """Return whether more than one varying feature in twenty has less than a hundredth of the largest range."""
    ranges = X.amax(dim=0) - X.amin(dim=0)
    varying = ranges[ranges > 0]
    if varying.numel() == 0:
        return False
    return bool((varying < varying.max() / 100).double().mean() > 0.05)
