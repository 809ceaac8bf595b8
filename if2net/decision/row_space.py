"""The row space of a few samples in a wide layer; it contains every solution computed from their statistics.

β is a sum of the rows of V, and so are the held-out samples: with n samples, n directions contain them all, and
nothing is lost when G is reduced to these directions. That is much faster than factorising the whole G.
"""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.decision.statistics import NO_COPY_WIDTH, Statistics
from if2net.decision.symmetric import symmetric_product

# The width must be at least this many times the number of directions, or the reduction saves little.
TIMES = 10
# Directions beyond one per sample, which make sure that none is missed.
MORE = 8
# This share of tr(G) may be outside the directions; there is more where samples are nameless.
OUTSIDE = 1e-4


def row_space(statistics: Statistics) -> tuple[Tensor, Statistics] | None:
    """Return orthonormal directions that contain all rows, as columns, and the statistics reduced to them.

    None where that would not save time.
    """
    width, count = statistics.width, statistics.samples + MORE
    if width < NO_COPY_WIDTH or TIMES * count > width:
        return None
    G = statistics.G
    # Random combinations of the rows of G span their space.
    random = torch.randn(width, count, generator=torch.Generator().manual_seed(0)).to(G)
    U = torch.linalg.qr(symmetric_product(G, random)).Q
    reduced = statistics.reduced(U)
    return (U, reduced) if reduced.trace >= (1 - OUTSIDE) * statistics.trace else None
