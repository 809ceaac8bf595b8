"""The row space of a few samples in a wide layer; it contains every solution computed from their statistics.

β is a sum of the rows of V, and so are the held-out samples: with n samples, n directions contain them all, and
nothing is lost when G is reduced to these directions. That is much faster than factorising the whole G.
"""

from __future__ import annotations

import torch
from torch import Tensor

from if2net.decision.statistics import Statistics
from if2net.decision.symmetric import symmetric_product
from if2net.few_rows import WIDE_LAYER

# The features per direction. With fewer, the reduction saves little, or takes longer than the factorisation of G
# (benchmarks/few.py).
WIDTH_PER_DIRECTION = 10
# The same where the ridge is chosen on some of the features, and the choice saves nothing.
WIDTH_PER_DIRECTION_OF_THINNED = 20
# Directions beyond one per sample, which make sure that none is missed.
EXTRA_DIRECTIONS = 8
# This share of tr(G), and of the sum of each class, may be outside the directions. There is more where samples are
# nameless, or so short beside others that their directions are lost in rounding.
OUTSIDE = 1e-4


def row_space(statistics: Statistics, thinned: bool = False) -> tuple[Tensor, Statistics] | None:
    """Return orthonormal directions that contain all rows, as columns, and the statistics reduced to them.

    None where that would not save time, or where the directions do not contain all rows. `thinned` says whether the
    ridge is chosen on some of the features.
    """
    width, count = statistics.width, statistics.samples + EXTRA_DIRECTIONS
    per_direction = WIDTH_PER_DIRECTION_OF_THINNED if thinned else WIDTH_PER_DIRECTION
    if width < WIDE_LAYER or per_direction * count > width:
        return None
    G = statistics.G
    # Random combinations of the rows of G span their space.
    random = torch.randn(width, count, generator=torch.Generator().manual_seed(0)).to(G)
    U = torch.linalg.qr(symmetric_product(G, random)).Q
    reduced = statistics.reduced(U)
    if reduced.trace < (1 - OUTSIDE) * statistics.trace:
        return None
    Q = statistics.Q
    lost = torch.linalg.vector_norm((Q - U @ reduced.Q).double(), dim=0)
    return (U, reduced) if bool((lost <= OUTSIDE * torch.linalg.vector_norm(Q.double(), dim=0)).all()) else None
