"""The fully connected encoder of Algorithm 1: frozen random layers, with or without the sparse tweak."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net import blas, device_memory, inputs
from if2net.accelerate.products import Factor, product
from if2net.encoder.blocks import Blocks, random_blocks
from if2net.encoder.fold import Fold
from if2net.encoder.rowwise import rowwise
from if2net.encoder.sparse import TweakStatistics, tweak
from if2net.encoder.standardise import BRIGHTNESS_POWER, Standardiser
from if2net.errors import InputError
from if2net.few_rows import FEW_ROWS, WIDE_LAYER
from if2net.tensor_specs import TensorSpec, TensorSpecs
from if2net.threads import beside

# In place: a response is not needed any more.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "tanh": torch.tanh_,
    "sigmoid": torch.sigmoid_,
}

# The principal directions of more inputs than this are those of a part of the samples, of at most this number: all of
# them would take minutes.
MANY_INPUTS, SPREAD_SAMPLES = 2048, 1024

# The mean response is that of this many of the first samples. It need not be exact: a constant is subtracted, and V
# has a column of ones.
CENTRE_SAMPLES = 1024

# Weights for columns in different units are this much smaller. On tables made from scikit-learn's generators that was
# more accurate than 1 and than 0.25.
SCALE_FOR_UNITS = 0.5

# The widths that an error about memory may advise.
SMALLER_WIDTHS = (6000, 2000, 1000, 500, 200, 100)

# First data of fewer samples says little about the spread.
FEW_SAMPLES = 100

# W̃ᵀ of each layer, which Algorithm 1 solves for one set of data. Empty where the encoder has no tweak.
Tweak = list[Tensor]
# V before the activation, as a function of the responses of the layer below.
Layer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class EncoderConfig:
    """The architecture of an encoder. `encoder.presets` has them by name."""

    layers: tuple[Blocks, ...]
    activation: str = "relu"
    distribution: str = "normal"  # of the random weights; `uniform` is the paper's U[-1, 1]
    scale: float = 1.0
    tweaked: bool = False
    strength: float = 0.01  # λ of the tweak; the paper's value
    solver: str = "fista"
    standardise: str = "auto"
    fold: int | None = None  # more inputs than this are added up with random signs, in this many sums
    follow: float = 0.0  # p of Σ^p w: the weights follow the spread Σ of the first data
    centre: bool = False  # subtract the mean response to the first data, which would otherwise dominate G
    direct: bool = False  # a direct link: V contains the standardised inputs, too
    bias: bool = False  # a column of ones

    def folded(self, inputs: int) -> int:
        """Return the number of inputs that the layers see."""
        return min(inputs, self.fold or inputs)

    def width(self, inputs: int) -> int:
        """Return S, the number of columns of V, for this number of inputs."""
        return (self.layers[-1].width if self.layers else 0) + self.folded(inputs) * self.direct + self.bias

    def layer_shapes(self, inputs: int) -> list[tuple[int, int]]:
        """Return the shape of [W; b] of each layer, which is also that of its tweak."""
        widths = [blocks.width for blocks in self.layers]
        return [(before + 1, width) for before, width in zip([self.folded(inputs), *widths], widths, strict=False)]

    def operations(self, inputs: int) -> int:
        """Return the floating-point operations for one sample."""
        return sum(2 * rows * columns for rows, columns in self.layer_shapes(inputs))

    def bytes_needed(self, inputs: int, dtype: torch.dtype) -> int:
        """Return the bytes that learning takes at least: for the weights, and for the spread of the inputs or G."""
        weights = sum(8 * rows * columns for rows, columns in self.layer_shapes(inputs))  # drawn in float64
        spread = 16 * min(self.folded(inputs), MANY_INPUTS) ** 2 if self.follow and self.layers else 0
        return weights + max(spread, dtype.itemsize * self.width(inputs) ** 2)

    def check_memory(self, inputs: int, dtype: torch.dtype, device: torch.device) -> None:
        """Raise an error that says what to set if learning would take more memory than the device has."""
        needed, there = self.bytes_needed(inputs, dtype), device_memory.total(device)
        if needed <= there:
            return
        advice = [
            f"set width={width}, or "
            for width in SMALLER_WIDTHS
            if self.layers and replace(self, layers=(Blocks(width, 1),)).bytes_needed(inputs, dtype) <= there / 2
        ]
        if not advice and not self.fold:
            advice = ["use the encoder wide, which adds up inputs, or "]
        raise InputError(
            f"Learning from {inputs:,} features with this encoder takes more than {needed / 1e9:,.1f} GB of memory, "
            f"and there are {there / 1e9:,.1f} GB; {advice[0] if advice else ''}reduce the features, for example "
            "with sklearn.decomposition.PCA."
        )

    def tensor_specs(self, inputs: int, dtype: torch.dtype) -> TensorSpecs:
        """Return the shapes and bounds of `DenseEncoder.tensors` for this number of inputs."""
        specs = {
            "encoder.mean": TensorSpec((inputs,), dtype),
            "encoder.scale": TensorSpec((inputs,), dtype, least=torch.finfo(dtype).tiny),
            "encoder.clip": TensorSpec((1,), dtype, least=torch.finfo(dtype).tiny, most=float("inf")),
            "encoder.power": TensorSpec((1,), dtype, least=0.0, most=BRIGHTNESS_POWER),
        }
        if self.folded(inputs) < inputs:
            specs["encoder.order"] = TensorSpec((inputs,), torch.int64, least=0, most=inputs - 1)
            specs["encoder.signs"] = TensorSpec((inputs,), dtype, least=-1.0, most=1.0)
        if self.centre:
            specs["encoder.centre"] = TensorSpec((self.layers[-1].width,), dtype)
        for depth, shape in enumerate(self.layer_shapes(inputs)):
            specs[f"encoder.weights.{depth}"] = TensorSpec(shape, dtype)
        return specs


@dataclass
class DenseEncoder:
    """An encoder from samples to representations V. `start` draws its weights for the first data and freezes them.

    >>> encoder = DenseEncoder(EncoderConfig(layers=(Blocks(20, 5),), bias=True), seed=0)
    >>> X = torch.randn(50, 8)
    >>> encoder.start(X)
    >>> encoder.encode(X, encoder.tweak([X])).shape
    torch.Size([50, 101])
    """

    config: EncoderConfig
    seed: int
    weights: list[Tensor] = field(default_factory=list)
    standardiser: Standardiser | None = None
    centre: Tensor | None = None
    fold: Fold | None = None

    @property
    def inputs(self) -> int:
        return len(self._standardiser.mean)

    @property
    def width(self) -> int:
        """S, the number of columns of V."""
        return self.config.width(self.inputs)

    @property
    def usual(self) -> Tensor | None:
        """The root mean square of each input in the first data; None if inputs are not standardised."""
        return self._standardiser.usual

    @property
    def clips(self) -> bool:
        """Whether standardised inputs are clipped."""
        return self._standardiser.clip < float("inf")

    @property
    def has_units(self) -> bool:
        """Whether each input has its own scale."""
        return self._standardiser.has_units

    @property
    def _standardiser(self) -> Standardiser:
        if self.standardiser is None:
            raise RuntimeError("The encoder has not been started; call start with the first data.")
        return self.standardiser

    def start(self, X: Tensor, weights: Tensor | None = None) -> None:
        """Draw the random weights for inputs like X and freeze them, with the scale of X.

        A sample of X with a weight counts as that many equal ones.
        """
        self.config.check_memory(X.shape[1], X.dtype, X.device)
        self.standardiser = Standardiser.fit(X, self.config.standardise, weights)
        generator = torch.Generator().manual_seed(self.seed)
        inputs = self.config.folded(X.shape[1])
        if inputs < X.shape[1]:
            self.fold = Fold.draw(X.shape[1], inputs, generator).to(X)
        standardised = self._standardised(X)
        # In float64, a weight of 2 gives the same bits as a repeated sample; for many samples it takes long.
        dtype = torch.float64 if len(X) <= CENTRE_SAMPLES else X.dtype
        self.weights = []
        for depth, blocks in enumerate(self.config.layers):
            draw = partial(self._drawn, inputs, blocks, generator, dtype)
            if depth == 0 and self.config.follow:
                drawn = _along_spread(draw, standardised, self.config.follow, weights)
            else:
                drawn = draw()
            self.weights.append(drawn.to(X))
            inputs = blocks.width
        if self.config.centre:
            some = torch.randperm(len(X), generator=generator)[:CENTRE_SAMPLES].to(X.device)
            responses = self._hidden(standardised[some], map(_counting_layer, self.weights)).double()
            counts = torch.ones_like(some, dtype=torch.float64) if weights is None else weights[some]
            self.centre = (counts @ responses / counts.sum()).to(X.dtype)

    def _drawn(self, inputs: int, blocks: Blocks, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """Return the random weights and biases of a layer, on the CPU."""
        has_units = self.config.standardise == "auto" and self.has_units
        return random_blocks(
            inputs,
            blocks,
            distribution=self.config.distribution,
            scale=self.config.scale * (SCALE_FOR_UNITS if has_units else 1),
            generator=generator,
        ).to(dtype)

    def tweak(self, batches: Iterable[Tensor]) -> Tweak:
        """Solve Algorithm 1 on this data, with one pass over the batches per layer."""
        tweaks: Tweak = []
        if not self.config.tweaked:
            return tweaks
        for blocks, weights in zip(self.config.layers, self.weights, strict=True):
            statistics = TweakStatistics(blocks, len(weights), weights.device)
            for X in batches:
                V = pad(self._hidden(self._standardised(X), map(_layer, tweaks)), (0, 1), value=1.0)
                drifted = self._activate(V @ weights)
                statistics.add(drifted, V)
            tweaks.append(tweak(statistics, self.config.strength, self.config.solver).to(weights.dtype))
        return tweaks

    def encode(self, X: Tensor, tweak: Tweak) -> Tensor:
        """Return V, the representation of X: tweaked responses where there is a tweak, otherwise drifted ones."""
        return self.encoding(tweak)(X)

    def encoding(self, tweak: Tweak) -> Callable[[Tensor], Tensor]:
        """Return `encode` as a function for many batches, with the weights prepared once."""
        layers = [_layer(weights) for weights in tweak or self.weights]
        return lambda X: self._encoded(X, layers)

    def counting(self, tweak: Tweak) -> Callable[[Tensor], Tensor]:
        """Return the function whose rows are counted: `encoding` with faster products, since bits do not matter."""
        layers = [_counting_layer(weights) for weights in tweak or self.weights]
        return lambda X: self._encoded(X, layers)

    def fits(self, X: Tensor) -> Tensor:
        """Return, as a tensor on the device, whether no value of X is too large."""
        return self.farthest(X) <= inputs.largest(X.dtype)

    def check(self, X: Tensor) -> None:
        """Raise an error where a value of X is too large."""
        inputs.check_range(float(self.farthest(X)), X.dtype)

    def farthest(self, X: Tensor) -> Tensor:
        """Return the largest standardised value of X, as a tensor on the device.

        With a common scale, it is that before clipping.
        """
        scaled = self._standardiser if self.has_units else self._standardiser.unclipped
        ends = (torch.aminmax(scaled(part)) for part in X.split(4096))
        return torch.stack([torch.maximum(-lowest, highest) for lowest, highest in ends]).max()

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield everything frozen, by name. Two encoders are equal if these tensors are."""
        yield "encoder.mean", self._standardiser.mean
        yield "encoder.scale", self._standardiser.scale
        yield "encoder.clip", self._standardiser.mean.new_tensor([self._standardiser.clip])
        yield "encoder.power", self._standardiser.mean.new_tensor([self._standardiser.power])
        if self.fold is not None:
            yield "encoder.order", self.fold.order
            yield "encoder.signs", self.fold.signs
        if self.centre is not None:
            yield "encoder.centre", self.centre
        for depth, weights in enumerate(self.weights):
            yield f"encoder.weights.{depth}", weights

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.standardiser = Standardiser(
            tensors["encoder.mean"],
            tensors["encoder.scale"],
            float(tensors["encoder.clip"]),
            float(tensors["encoder.power"]),
        )
        self.centre = tensors.get("encoder.centre")
        if "encoder.order" in tensors:
            sums = self.config.folded(self.inputs)
            self.fold = Fold(tensors["encoder.order"], tensors["encoder.signs"], sums)
        self.weights = [tensors[f"encoder.weights.{depth}"] for depth in range(len(self.config.layers))]

    def _activate(self, response: Tensor) -> Tensor:
        return ACTIVATIONS[self.config.activation](response)

    def _standardised(self, X: Tensor) -> Tensor:
        standardised = self._standardiser(X)
        return standardised if self.fold is None else self.fold(standardised)

    def _encoded(self, X: Tensor, layers: list[Layer]) -> Tensor:
        standardised = self._standardised(X)
        parts = []
        if layers:
            hidden = self._hidden(standardised, layers)
            parts.append(hidden if self.centre is None else hidden.sub_(self.centre))
        if self.config.direct:
            parts.append(standardised)
        if self.config.bias:
            parts.append(torch.ones_like(X[:, :1]))
        return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]

    def _hidden(self, standardised: Tensor, layers: Iterable[Layer]) -> Tensor:
        V = standardised
        for layer in layers:
            V = self._activate(layer(V))
        return V


def _layer(weights: Tensor) -> Layer:
    """Return a layer, prepared for many batches. The last row of the weights is its bias."""
    columns = weights.shape[1]
    if columns % 2:  # a row of a product in float64 would have other bits at another place
        weights = pad(weights, (0, 1))
    factor, bias = Factor(weights[:-1]), weights[-1]
    return lambda V: product(V, factor, bias)[:, :columns]


def _counting_layer(weights: Tensor) -> Layer:
    """Return a faster layer, without the promise that a row has the same bits in any batch.

    A few rows have them, so that a weight of 2 equals a repeated sample. In a wide layer that would take too long.
    """
    plain, bias = _layer(weights), weights[-1]
    if weights.device.type != "cpu":
        return plain
    prepared = cache(lambda: blas.multiplier(weights[:-1]))

    def layer(V: Tensor) -> Tensor:
        if len(V) >= FEW_ROWS:
            return prepared()(V).add_(bias)
        return plain(V) if len(bias) >= WIDE_LAYER else rowwise(plain, V)

    return layer


def _principal_directions(X: Tensor) -> Callable[[], tuple[Tensor, Tensor]]:
    """Return a function that returns the spread of X along its principal directions, and these as columns.

    On a CPU, that function mostly takes one thread. With fewer samples than inputs, the directions follow from the
    samples × samples matrix XXᵀ, and only those with a spread are returned.
    """
    if X.shape[1] > MANY_INPUTS:
        X = X[:: math.ceil(len(X) / SPREAD_SAMPLES)]
    enough = len(X) >= X.shape[1]
    matrix = (blas.gram(X) if enough else X @ X.T) / len(X)

    def find() -> tuple[Tensor, Tensor]:
        values, vectors = blas.eigen(matrix)
        if enough:
            return values.clamp(min=0), vectors
        some = values > 1e-12 * values[-1]
        return values[some], X.T @ (vectors[:, some] / (len(X) * values[some]).sqrt())

    return find


def _along_spread(draw: Callable[[], Tensor], X: Tensor, power: float, counts: Tensor | None = None) -> Tensor:
    """Draw [W; b], and replace each w by Σ^p w, scaled to the former mean spread of the response.

    These are random directions that the data uses.

    With Σ = UΛUᵀ it is UΛ^pUᵀw. The mean spread wᵀΣw of the response is proportional to tr(Σ) before, and to
    tr(Σ^(1+2p)) after. A few samples have no spread in most directions, which later ones will have: a part of Λ is
    then divided equally. `counts` are the weights of the samples.
    """
    X, samples = X.double(), float(len(X))
    if counts is not None:
        samples = float(counts.sum())
        X = X * (counts * len(X) / samples).sqrt()[:, None]
    find = _principal_directions(X)
    with beside(draw) as drawn:
        values, U = find()
    del find  # its matrix is as large as a layer can be
    weights = drawn().to(X.device)
    W = weights[:-1]
    rest = values.new_zeros(())
    if samples < FEW_SAMPLES:
        share = 1 / max(samples, 1.0)
        rest = values.sum() / len(W) * share
        values = values * (1 - share) + rest
    others = len(W) - len(values)  # directions that are not in U
    before, after = (values.pow(1 + 2 * p).sum() + others * rest.pow(1 + 2 * p) for p in (0, power))
    if not after > 0:
        return weights
    scale = (before / after).sqrt()
    left, right = (U * (scale * (values.pow(power) - rest.pow(power)))).to(W.dtype), U.T.to(W.dtype)
    if 2 * len(values) < len(W):
        along = blas.product(left, blas.product(right, W))
    else:
        along = blas.product(blas.product(left, right), W)
    weights[:-1] = along + float(scale * rest.pow(power)) * W if rest > 0 else along
    return weights
