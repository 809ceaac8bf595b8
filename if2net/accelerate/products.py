"""Matrix products on tensor cores with nearly the accuracy of float32, at several times its speed.

Tensor cores multiply float16 numbers ("halves"). Each number is written as x = unit · (high + low), with high and
low in float16 (11 bits each) and a power of two as the unit of its row or column. Then
AB ≈ low·high + high·low + high·high, added up in float32. The units bring the largest number of each row or column to
2¹⁴, so that nothing overflows, and are divided out exactly.

Error: high + low is x / unit to 2⁻²³ of itself, or to 2⁻²⁵ where that is more, and low·low is left out. So an entry
of G = VᵀV is wrong by at most 2⁻²¹ Σ|vᵢ||vⱼ| + 2⁻³⁸ √N ‖vᵢ‖‖vⱼ‖, which is less than 2⁻²⁰ √(Gᵢᵢ Gⱼⱼ) whatever the
scales of the features. For AB, whose terms are balanced first (see `Factor`), it is 2⁻²¹ Σ|a||b| + 2⁻³⁸ K max|a||b|.
Float32's own product has up to K·2⁻²⁴ Σ|a||b|; it is used for sums of few terms, where it is better, and everywhere
but on a GPU. Tensor cores also truncate where others round, so sums of one sign come out slightly too small.
`benchmarks/gpu.py` measures the total error of G against float64.

A number that is not finite makes its whole row or column NaN, where float32 has NaN or infinity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import torch
from torch import Tensor

from if2net.accelerate import available

# Terms summed on tensor cores before they are added in float32. Longer sums are faster and truncate more; at this
# length the error is a quarter of float32's own (benchmarks/gpu.py).
PIECE = 2048
# With fewer terms than this, float32's own product is more accurate.
FEWEST = 256
# Rows that begin at odd addresses are slow.
ALIGNED = 16

TOP = 2.0**14
SMALLEST = 2.0**-112  # smaller numbers would need units below float32's range
EXPONENT = 0x7F80_0000


def by_halves(matrix: Tensor, terms: int) -> bool:
    """Return whether products of this matrix that sum up `terms` terms use tensor cores. Only shapes decide."""
    return (
        matrix.dtype == torch.float32
        and terms >= FEWEST
        and available(matrix.device)
        and _has_tensor_cores(matrix.device)
    )


class Halves:
    """A matrix as unit · (high + low), for products that sum over its dimension `inner`.

    >>> A = torch.tensor([[3.0, 1e-4], [0.0, 1.0]])
    >>> halves = Halves(A, inner=1)
    >>> halves.unit.flatten().tolist() == [2**-13, 2**-14]
    True
    """

    def __init__(self, matrix: Tensor, inner: int) -> None:
        self.unit = _size(matrix, inner) / TOP
        self.pieces = [_stacked(part, self.unit, inner) for part in matrix.split(PIECE, dim=inner)]

    def gram(self, rows: slice) -> Tensor:
        """Return these rows of MᵀM up to the end of the diagonal, so that G = unitᵀ ∘ gram ∘ unit."""
        width = aligned(rows.stop)
        pairs = ((_left(piece[:, rows.start : width], 0).T, _right(piece[:, :width], 0)) for piece in self.pieces)
        return _sum_of_products(pairs)[: rows.stop - rows.start, : rows.stop]


class Factor:
    """The right factor B of products AB, prepared once for many A.

    Where B has small rows for large columns of A, as weights do, the columns take over their size: (AD)(D⁻¹B).
    """

    def __init__(self, B: Tensor) -> None:
        self.matrix, self.halves = B, None
        if by_halves(B, len(B)):
            D = _size(B, 1)
            self.D = torch.where(D.isfinite(), D, 1.0)
            self.halves = Halves(B / self.D, 0)


def product(A: Tensor, B: Tensor | Factor, added: Tensor | None = None) -> Tensor:
    """Return AB, with `added` added to each row. Each row of the result depends on that row of A alone.

    >>> product(torch.ones(2, 3), torch.eye(3), torch.tensor([1.0, 2.0, 3.0])).tolist()
    [[2.0, 3.0, 4.0], [2.0, 3.0, 4.0]]
    """
    factor = B if isinstance(B, Factor) else Factor(B)
    if factor.halves is None:
        return A @ factor.matrix if added is None else torch.addmm(added, A, factor.matrix)
    left, right = Halves(A * factor.D.T, 1), factor.halves
    pairs = ((_left(a, 1), _right(b, 0)) for a, b in zip(left.pieces, right.pieces, strict=True))
    total = _sum_of_products(pairs)[: len(A), : factor.matrix.shape[1]].mul_(left.unit)
    return total.mul_(right.unit) if added is None else torch.addcmul(added, total, right.unit)


@lru_cache
def _has_tensor_cores(device: torch.device) -> bool:
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if device.type != "cuda" or torch.version.cuda is None or version < (2, 8):  # it has no `out_dtype`
        return False
    return torch.cuda.get_device_capability(device) >= (7, 0)


def _size(matrix: Tensor, dim: int) -> Tensor:
    """Return the power of two in the largest number along `dim`, from its exponent bits; infinity stays infinity."""
    largest = torch.linalg.vector_norm(matrix, math.inf, dim=dim, keepdim=True)
    return (largest.view(torch.int32) & EXPONENT).view(torch.float32).clamp(min=SMALLEST)


def aligned(size: int) -> int:
    """Round a size up to a multiple of 16."""
    return size + -size % ALIGNED


def _stacked(part: Tensor, unit: Tensor, inner: int) -> Tensor:
    """Return [high, low, high, high] of part / unit along the inner dimension, padded with zeros to a round size.

    The last three of A and the first three of B are the pairs low·high, high·low and high·high, so one product
    computes all of them. The large pair comes last, so that the small ones are added while the sum is small. The
    padding of the other dimension is not initialised: its products are cut off.
    """
    rows, columns = part.shape
    shape = [aligned(rows), aligned(columns)]
    padded = shape[inner] > part.shape[inner]
    scaled = part.new_zeros(shape) if padded else part.new_empty(shape)
    torch.div(part, unit, out=scaled[:rows, :columns])
    shape.insert(inner, 4)
    stacked = part.new_empty(shape, dtype=torch.float16)
    high, low, *copies = stacked.unbind(inner)
    high.copy_(scaled)
    torch.sub(scaled, high, out=low)
    for copy in copies:
        copy.copy_(high)
    return stacked.flatten(inner, inner + 1)


def _left(piece: Tensor, inner: int) -> Tensor:
    """Return [low, high, high]."""
    fourth = piece.shape[inner] // 4
    return piece.narrow(inner, fourth, 3 * fourth)


def _right(piece: Tensor, inner: int) -> Tensor:
    """Return [high, low, high]."""
    return piece.narrow(inner, 0, 3 * (piece.shape[inner] // 4))


def _sum_of_products(pairs: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
    """Return the sum of the products of these halves, in float32. A CPU, in tests, multiplies in float32."""
    total: Tensor | None = None
    for left, right in pairs:
        if left.device.type == "cpu":
            part = left.float() @ right.float()
            total = part if total is None else total.add_(part)
        elif total is None:
            total = torch.mm(left, right, out_dtype=torch.float32)
        else:
            torch.addmm(total, left, right, out_dtype=torch.float32, out=total)
    assert total is not None
    return total
