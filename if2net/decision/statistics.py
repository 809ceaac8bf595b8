"""n, G = VᵀV and Q = VᵀY: all that learning keeps of the data. They add, subtract and merge exactly."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from if2net.accelerate.products import Halves
from if2net.contents import Contents, Part
from if2net.decision.symmetric import add_gram, add_gram_of_halves, add_triangle, symmetric_product, with_outer, zeros

# The most samples of a class that a file may announce, so that the sum of the counts stays within 64 bits.
MOST_SAMPLES = 2**40
# Fewer samples than this wait until there are as many: a one that is added to 2²⁴ in float32 is lost in rounding.
TOGETHER = 128
# Statistics at least this wide have no memory for a copy of G.
WIDE = 2048


class Statistics:
    """Sufficient statistics of ridge regression onto one-hot labels.

    Parameters
    ----------
    width : int
        S, the number of features.
    gram : bool
        Whether G is kept; without it, only Q and the counts are.

    Attributes
    ----------
    G : Tensor of shape (S, S)
        VᵀV, of which only the lower triangle is valid (see `symmetric.py`).
    Q : Tensor of shape (S, C)
        VᵀY, the sum of the samples of each class.
    counts : Tensor of shape (C,)
        Samples per class.
    nameless : int
        Samples of dropped classes. G has their scatter around the means of these classes, and nothing else of them.

    Examples
    --------
    >>> statistics = Statistics(width=3)
    >>> statistics.grow(2)
    >>> V, y = torch.eye(3), torch.tensor([0, 1, 1])
    >>> statistics.add(V, y)
    >>> statistics.counts.tolist(), statistics.samples
    ([1, 2], 3)
    >>> statistics.subtract(V, y)
    >>> bool((statistics.G == 0).all())
    True
    """

    def __init__(
        self,
        width: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        *,
        gram: bool = True,
    ) -> None:
        self._G = zeros(width if gram else 0, dtype, device)
        self._Q = torch.zeros(width, 0, dtype=dtype, device=device)
        self.counts = torch.zeros(0, dtype=torch.int64, device=device)
        self.nameless = 0
        self._waiting: list[tuple[Tensor, Tensor]] = []
        self.features: int | None = None  # of which G is the reduced form

    @property
    def G(self) -> Tensor:
        if not self._waiting or not len(self._G):
            return self._G
        if self.width >= WIDE:
            self._add_waiting()
            return self._G
        G = self._G.clone()
        add_gram(G, self._waiting_samples()[0], 1)
        return G

    @property
    def Q(self) -> Tensor:
        if not self._waiting:
            return self._Q
        Q = self._Q.clone()
        _add_class_sums(Q, *self._waiting_samples(), 1)
        return Q

    @property
    def width(self) -> int:
        return len(self._Q)

    @property
    def classes(self) -> int:
        return self._Q.shape[1]

    @property
    def samples(self) -> int:
        return int(self.counts.sum().round())

    @property
    def trace(self) -> float:
        """tr(G), the sum of all squared features."""
        waiting = sum(float(V.double().square().sum()) for V, _ in self._waiting)
        return float(self._G.diagonal().double().sum()) + waiting

    def grow(self, classes: int) -> None:
        """Append columns of zeros for new classes."""
        more = classes - self.classes
        if more > 0:
            self._Q = torch.cat([self._Q, self._Q.new_zeros(self.width, more)], dim=1)
            self.counts = torch.cat([self.counts, self.counts.new_zeros(more)])

    def keep(self, columns: Tensor) -> None:
        """Keep these classes. The samples of the others must have been subtracted."""
        self._add_waiting()
        self._Q, self.counts = self._Q[:, columns].contiguous(), self.counts[columns]

    def drop(self, column: int) -> None:
        """Remove a class whose samples are not at hand: its sum q, its count n and, from G, qqᵀ/n.

        Only the scatter of its samples around their mean stays in G. The row of a constant feature, which belongs to
        the intercept, is then without the class.
        """
        self._add_waiting()
        count = int(self.counts[column])
        if count:
            add_gram(self._G, self._Q[:, column].unsqueeze(0) / count**0.5, -1)
        self.nameless += count
        self.keep(torch.tensor([other for other in range(self.classes) if other != column], device=self._Q.device))

    def add(self, V: Tensor, y: Tensor, mask: Tensor | None = None) -> None:
        """Count samples V of the classes y; with a mask, only those that it selects.

        A sample may have further rows, which follow its first one and count in G alone.
        """
        if len(V):
            V, ones = self._masked(V, y, mask, 1)
            self.counts.scatter_add_(0, y, ones)
            self._wait(V, y)

    def subtract(self, V: Tensor, y: Tensor, mask: Tensor | None = None) -> None:
        """Undo `add`."""
        if len(V):
            self._add_waiting()
            V, ones = self._masked(V, y, mask, -1)
            self.counts.scatter_add_(0, y, ones)
            self._add(V, y, -1)

    def merge(self, other: Statistics, columns: Tensor) -> None:
        """Add other statistics, whose class k is column columns[k] here."""
        self.counts.index_add_(0, columns, other.counts)
        self.nameless += other.nameless
        if sum(len(y) for _, y in other._waiting) == other.samples + other.nameless:  # they are all that it has
            for V, y in other._waiting:
                self._wait(V, columns[y])
            return
        self._add_waiting()
        add_triangle(self._G, other.G)
        self._Q.index_add_(1, columns, other.Q)

    def take_out(self, other: Statistics) -> None:
        """Subtract statistics of the same classes."""
        self._add_waiting()
        add_triangle(self._G, other.G, -1)
        self._Q -= other.Q
        self.counts -= other.counts

    def thinned(self, features: slice) -> Statistics:
        """Return the statistics of some features; G is not copied where that is all of them."""
        G = self.G if (features.step or 1) == 1 else self.G[features, features].contiguous()
        return Statistics._of(G, self.Q[features], self.counts)

    def mixed(self, targets: Tensor) -> Statistics:
        """Return the statistics with other targets than one-hot labels: row k of `targets` for class k."""
        return Statistics._of(self.G, self.Q @ targets.to(self._Q), self.counts, self.features)

    def reweighted(self, weights: Tensor) -> Statistics:
        """Return the statistics of as many samples with other shares of the classes: n_c is multiplied by a weight.

        Where the samples of all classes spread alike around their means μ_c, that equals a weight per sample. The
        spread in G stays, and Σ n_c μ_cμ_cᵀ is replaced.
        """
        counts = self.counts.double()
        sizes = counts * weights
        sizes = sizes * (counts.sum() / sizes.sum()) if self.samples else sizes
        means = self.Q.double() / torch.where(counts > 0, counts, 1)
        return Statistics._of(
            with_outer(self.G, means, sizes - counts), (means * sizes).to(self._Q.dtype), sizes, self.features
        )

    def reduced(self, U: Tensor) -> Statistics:
        """Return the statistics of VU: G's part along orthonormal directions, which may be all that it has."""
        return Statistics._of(U.T @ symmetric_product(self.G, U), U.T @ self.Q, self.counts, self.width)

    def without(self, other: Statistics) -> Statistics:
        """Return these statistics minus others of the same classes."""
        return Statistics._of(self.G - other.G, self.Q - other.Q, self.counts - other.counts, self.features)

    def tensors(self, prefix: str) -> Iterator[tuple[str, Tensor]]:
        """Yield everything kept, by name."""
        self._add_waiting()  # then a copy made from it goes on with the same roundings
        yield f"{prefix}.G", self._G
        yield f"{prefix}.Q", self._Q
        yield f"{prefix}.counts", self.counts

    @staticmethod
    def contents(prefix: str, width: int, classes: int, dtype: torch.dtype) -> Contents:
        """Return what a file holds of statistics of this size: `tensors`, and of G one triangle."""
        return {
            f"{prefix}.G": Part((width * (width + 1) // 2,), dtype),
            f"{prefix}.Q": Part((width, classes), dtype),
            f"{prefix}.counts": Part((classes,), torch.int64, least=0, most=MOST_SAMPLES),
        }

    def restore(self, prefix: str, tensors: dict[str, Tensor]) -> None:
        """Take over what `tensors` yielded."""
        self._G, self._Q, self.counts = (tensors[f"{prefix}.{name}"] for name in ("G", "Q", "counts"))
        self._waiting = []

    @staticmethod
    def _of(G: Tensor, Q: Tensor, counts: Tensor, features: int | None = None) -> Statistics:
        statistics = Statistics(0)
        statistics.features = features
        statistics._G, statistics._Q, statistics.counts = G, Q, counts
        return statistics

    def _masked(self, V: Tensor, y: Tensor, mask: Tensor | None, sign: int) -> tuple[Tensor, Tensor]:
        """Return V, zero where the mask does not select a row, and by how much each row changes the counts."""
        V, ones = V.to(self._Q.dtype), torch.full_like(y, sign)
        return (V, ones) if mask is None else (torch.where(mask[:, None], V, 0), ones * mask)

    def _wait(self, V: Tensor, y: Tensor) -> None:
        self._waiting.append((V, y))
        if sum(len(rows) for rows, _ in self._waiting) >= TOGETHER:
            self._add_waiting()

    def _add_waiting(self) -> None:
        if self._waiting:
            self._add(*self._waiting_samples(), 1)
            self._waiting = []

    def _waiting_samples(self) -> tuple[Tensor, Tensor]:
        if len(self._waiting) > 1:
            V, y = zip(*self._waiting, strict=True)
            self._waiting = [(torch.cat(V), torch.cat(y))]
        return self._waiting[0]

    def _add(self, V: Tensor, y: Tensor, sign: int) -> None:
        _add_class_sums(self._Q, V, y, sign)  # first, while V is in the cache
        if len(self._G):
            halves = Halves.where_good(V, inner=0)
            if halves is None:
                add_gram(self._G, V, sign)
            else:
                add_gram_of_halves(self._G, halves, sign)


def _add_class_sums(Q: Tensor, V: Tensor, y: Tensor, sign: int) -> None:
    """Q += ±VᵀY, each sample added to its class, always in the same order."""
    V = V[:: rows_per_sample(V, y)]
    if V.device.type == "cuda":  # `index_add_` has no fixed order there, and `unique` makes the host wait
        Q.add_(V.new_zeros(Q.T.shape).index_put_((y,), V, accumulate=True).T, alpha=sign)
        return
    present, place = y.unique(return_inverse=True)
    Q[:, present] += V.new_zeros(len(present), V.shape[1]).index_add_(0, place, V, alpha=sign).T


def rows_per_sample(V: Tensor, y: Tensor) -> int:
    """Return how many rows of V each sample has. The first one has its label, and the others have the target zero."""
    return max(1, len(V) // max(1, len(y)))


def one_hot(y: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """Return Y, samples × classes."""
    return torch.zeros(len(y), classes, dtype=dtype, device=y.device).scatter_(1, y.unsqueeze(1), 1.0)
