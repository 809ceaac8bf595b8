"""Random nodes on top of the network's features: relu(Wx), with weights that take neither memory nor much time.

W consists of rows of HD₂HD₁, where H is a Hadamard matrix and D₁ and D₂ have random signs on their diagonals. Its
entries are nearly normal, the rows of a block are orthogonal, and only the signs are kept. H is the Kronecker product
of two smaller Hadamard matrices, so a product with H takes two small products.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import pad

# The mean of relu(x) for a normal x of mean 0 and variance 1, which Wv nearly is on drawings. If it were not
# subtracted, one direction would dominate G, and therefore the rounding.
MEAN = 1 / math.sqrt(2 * math.pi)
# All encoders have the same signs, so that learners which began apart can be merged.
SEED = 0


@dataclass(frozen=True)
class RandomNodes:
    """Random ReLU nodes of a given number of features.

    >>> nodes = RandomNodes.draw(features=10, width=40)
    >>> nodes(torch.randn(3, 10)).shape
    torch.Size([3, 40])
    """

    signs: Tensor  # int8 of `shape`: of D₁ and D₂, for each block of nodes
    features: int
    width: int

    @classmethod
    def draw(cls, features: int, width: int) -> RandomNodes:
        """Return nodes with random signs, which only depend on their number."""
        generator = torch.Generator().manual_seed(SEED)
        signs = torch.randint(2, cls.shape(features, width), generator=generator) * 2 - 1
        return cls(signs.to(torch.int8), features, width)

    @staticmethod
    def shape(features: int, width: int) -> tuple[int, int, int]:
        """Return the shape of the signs: blocks of nodes, two diagonals, the order of H."""
        order = root(features) ** 2
        return math.ceil(width / order), 2, order

    def to(self, device: torch.device) -> RandomNodes:
        return RandomNodes(self.signs.to(device), self.features, self.width)

    def __call__(self, V: Tensor) -> Tensor:
        """Return relu(Wv) − E relu for each row v of V. W is scaled so that Wv varies as much as v."""
        order = self.signs.shape[2]
        padded = pad(V, (0, order - self.features))
        responses = [
            _hadamard_product(_hadamard_product(padded * first) * second) for first, second in self.signs.to(V.dtype)
        ]
        scale = math.sqrt(order * self.features)
        return torch.relu(torch.cat(responses, dim=1)[:, : self.width] / scale) - MEAN


def root(features: int) -> int:
    """Return the least power of two whose square is at least the number of features.

    >>> root(3840), root(12_416)
    (64, 128)
    """
    return 2 ** math.ceil(math.log2(max(features, 1)) / 2)


def _hadamard_product(V: Tensor) -> Tensor:
    """Return Hv for each row v, up to a fixed permutation."""
    side = math.isqrt(V.shape[1])
    H = _hadamard(side).to(V)
    return ((V.reshape(-1, side, side) @ H).transpose(1, 2) @ H).flatten(1)


@cache
def _hadamard(side: int) -> Tensor:
    """Return the Hadamard matrix of a power of two: orthogonal columns of ±1.

    >>> _hadamard(2).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    H = torch.ones(1, 1)
    while len(H) < side:
        H = torch.kron(torch.tensor([[1.0, 1.0], [1.0, -1.0]]), H)
    return H
