"""n, G = VᵀV and Q = VᵀY: all that learning keeps of the data. They add, subtract and merge exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.accelerate.products import Halves, by_halves
from if2net.decision.symmetric import add_gram, add_gram_of_halves, add_triangle, symmetric_product, with_outer, zeros
from if2net.errors import NumericalError
from if2net.few_rows import FEW_ROWS, WIDE_LAYER
from if2net.inputs import LARGEST_WEIGHT
from if2net.interrupts import uninterrupted
from if2net.tensor_specs import TensorSpec, TensorSpecs
from if2net.torch_modes import check_precision

# The most samples of a class that a file may declare, so that the sum of the counts stays within 64 bits.
MOST_SAMPLES = 2**40
MOST_WEIGHT = MOST_SAMPLES * LARGEST_WEIGHT
# The rounding errors of forgetting are below this share of the squares of all remaining samples.
ROUNDING_SHARE = 0.1
# Rounding errors of this many forgotten samples in the sums of a feature that is always one are no sign of damage.
MOST_FORGOTTEN = 2**34
# Sums in a file may be as large as the largest number to this power. The squares of the largest inputs are smaller.
LARGEST_SUM_EXPONENT = 0.9


class Rows(NamedTuple):
    """Samples as rows V, their classes and their weights, which are all 1 if None."""

    V: Tensor
    y: Tensor
    weights: Tensor | None = None

    @property
    def squares(self) -> Tensor:
        """The weighted sum of all squared features."""
        squares = self.V.double().square().sum(dim=1)
        return squares.sum() if self.weights is None else squares @ self.weights

    @property
    def scaled(self) -> Tensor:
        """V with each row times the root of its weight, so that its Gram matrix is VᵀWV."""
        return self.V if self.weights is None else self.V * self.weights.sqrt().to(self.V.dtype)[:, None]


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
    weights : Tensor of shape (C,)
        The sum of the weights of these samples, in float64. In G, Q and here, a sample of weight 2 equals two
        samples of weight 1.
    nameless : int
        Samples of dropped classes. G has their scatter around the means of these classes, and nothing else of them.
    nameless_weight : float
        The sum of their weights.
    largest : float
        The largest tr(G) from which samples were taken out, 0 if none were. G still has rounding errors of that size.

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
        self.weights = torch.zeros(0, dtype=torch.float64, device=device)
        self.nameless, self.nameless_weight, self.largest = 0, 0.0, 0.0
        self._waiting: list[Rows] = []
        self._only_waiting = True  # no sample is part of G and Q yet
        self.whole = True  # not during a change in place, and not after one that ended with an error
        self.features: int | None = None  # of which G is the reduced form

    def check_whole(self) -> None:
        """Raise an error if a change in place did not end, since some of the sums may have changed and others not."""
        if not self.whole:
            raise NumericalError(
                "An error in the middle of a change left this learner half changed. Load the model from its file, or "
                "learn everything again."
            )

    @property
    def G(self) -> Tensor:
        self.check_whole()
        if not self._waiting or not len(self._G):
            return self._G
        if self.width >= WIDE_LAYER:
            self._add_waiting()
            return self._G
        return _with_gram(self._G, self._waiting_rows(), 1)

    @property
    def Q(self) -> Tensor:
        self.check_whole()
        if not self._waiting:
            return self._Q
        return _with_class_sums(self._Q.clone(), self._waiting_rows(), 1)

    @property
    def width(self) -> int:
        return len(self._Q)

    @property
    def classes(self) -> int:
        return self._Q.shape[1]

    @property
    def samples(self) -> int:
        return int(self.counts.sum())

    @property
    def weight(self) -> float:
        """The sum of the weights of all samples, which is their number where none has a weight."""
        return float(self.weights.sum())

    @property
    def trace(self) -> float:
        """tr(G), the sum of all squared features."""
        return float(self._G.diagonal().double().sum()) + sum(float(rows.squares) for rows in self._waiting)

    def grow(self, classes: int) -> None:
        """Append columns of zeros for new classes."""
        more = classes - self.classes
        if more > 0:
            self._Q = pad(self._Q, (0, more))
            self.counts = pad(self.counts, (0, more))
            self.weights = pad(self.weights, (0, more))

    def keep(self, columns: Tensor) -> None:
        """Keep these classes. The samples of the others must have been subtracted."""
        self._add_waiting()
        self._Q = self._Q[:, columns].contiguous()
        self.counts, self.weights = self.counts[columns], self.weights[columns]

    def drop(self, column: int) -> None:
        """Remove a class whose samples are not at hand: its sum q, its weight n and, from G, qqᵀ/n.

        Only the scatter of its samples around their mean stays in G. The row of a constant feature, which belongs to
        the intercept, is then without the class.
        """
        self._add_waiting()
        self.largest = max(self.largest, self.trace)
        count, weight = int(self.counts[column]), float(self.weights[column])
        if count:
            add_gram(self._G, self._Q[:, column].unsqueeze(0) / weight**0.5, -1)
        self.nameless += count
        self.nameless_weight += weight
        self.keep(torch.tensor([other for other in range(self.classes) if other != column], device=self._Q.device))

    def add(self, V: Tensor, y: Tensor, mask: Tensor | None = None, weights: Tensor | None = None) -> None:
        """Count samples V of the classes y; with a mask, only those that it selects."""
        if len(V):
            self._wait(self._counted(V, y, mask, weights, 1))

    def subtract(self, V: Tensor, y: Tensor, mask: Tensor | None = None, weights: Tensor | None = None) -> None:
        """Undo `add`."""
        if len(V):
            self._add_waiting()
            self._add(self._counted(V, y, mask, weights, -1), -1)

    def merge(self, other: Statistics, columns: Tensor) -> None:
        """Add other statistics, whose class k is column columns[k] here."""
        self.counts.index_add_(0, columns, other.counts)
        self.weights.index_add_(0, columns, other.weights)
        self.nameless += other.nameless
        self.nameless_weight += other.nameless_weight
        self.largest = max(self.largest, other.largest)
        if other._only_waiting:
            for rows in other._waiting:
                self._wait(rows._replace(y=columns[rows.y]))
            return
        self._add_waiting()
        self._only_waiting = False
        add_triangle(self._G, other.G)
        self._Q.index_add_(1, columns, other.Q)

    def take_out(self, other: Statistics) -> None:
        """Subtract statistics of the same classes."""
        self._add_waiting()
        self.largest = max(self.largest, self.trace)
        add_triangle(self._G, other.G, -1)
        self._Q -= other.Q
        self.counts -= other.counts
        self.weights = _where_counted(self.weights - other.weights, self.counts)

    def thinned(self, features: slice) -> Statistics:
        """Return the statistics of some features; G is not copied where that is all of them."""
        G = self.G if (features.step or 1) == 1 else self.G[features, features].contiguous()
        return self._derived(G, self.Q[features], self.features)

    def mixed(self, targets: Tensor) -> Statistics:
        """Return the statistics with other targets than one-hot labels: row k of `targets` for class k."""
        return self._derived(self.G, self.Q @ targets.to(self._Q), self.features)

    def in_order(self, columns: Tensor) -> Statistics:
        """Return the statistics with the classes in another order."""
        result = self._derived(self.G, self.Q[:, columns], self.features)
        result.counts, result.weights = self.counts[columns], self.weights[columns]
        return result

    def reweighted(self, weights: Tensor) -> Statistics:
        """Return the statistics with other shares of the classes: the weight n_c of each is multiplied by a factor.

        Where the samples of all classes spread alike around their means μ_c, that equals a weight per sample. The
        spread in G stays, and Σ n_c μ_cμ_cᵀ is replaced.
        """
        sizes = self.weights * weights
        sizes = sizes * (self.weight / sizes.sum()) if self.samples else sizes
        means = self.Q.double() / torch.where(self.weights > 0, self.weights, 1)
        result = self._derived(
            with_outer(self.G, means, sizes - self.weights), (means * sizes).to(self._Q.dtype), self.features
        )
        result.weights = sizes
        return result

    def reduced(self, U: Tensor) -> Statistics:
        """Return the statistics of VU: the part of G along orthonormal directions, possibly the whole of it."""
        return self._derived(U.T @ symmetric_product(self.G, U), U.T @ self.Q, self.width)

    def without(self, other: Statistics) -> Statistics:
        """Return these statistics minus others of the same classes."""
        result = self._derived(self.G - other.G, self.Q - other.Q, self.features)
        result.counts = self.counts - other.counts
        result.weights = _where_counted(self.weights - other.weights, result.counts)
        result.nameless -= other.nameless
        result.nameless_weight -= other.nameless_weight
        return result

    def tensors(self, prefix: str) -> Iterator[tuple[str, Tensor]]:
        """Yield everything kept, by name."""
        self.check_whole()
        self._add_waiting()  # a copy then continues with the same roundings
        yield f"{prefix}.G", self._G
        yield f"{prefix}.Q", self._Q
        yield f"{prefix}.counts", self.counts

    @staticmethod
    def tensor_specs(prefix: str, width: int, classes: int, dtype: torch.dtype) -> TensorSpecs:
        """Return the shapes and bounds of `tensors` in a file, where G is one triangle."""
        most = largest_sum(dtype)
        return {
            f"{prefix}.G": TensorSpec((width * (width + 1) // 2,), dtype, least=-most, most=most),
            f"{prefix}.Q": TensorSpec((width, classes), dtype, least=-most, most=most),
            f"{prefix}.counts": TensorSpec((classes,), torch.int64, least=0, most=MOST_SAMPLES),
        }

    def restore(self, prefix: str, tensors: dict[str, Tensor]) -> None:
        """Restore the statistics from `tensors`. Every sample gets the weight 1."""
        self._G, self._Q, self.counts = (tensors[f"{prefix}.{name}"] for name in ("G", "Q", "counts"))
        self.weights = self.counts.double()
        self._waiting, self._only_waiting = [], False

    def are_possible(self, squares: float, weight: float) -> bool:
        """Return whether samples of these weights can have these sums, apart from the rounding of forgotten ones.

        `squares` and `weight` are the trace of G and the weight of all samples; these may be a part of them. No
        entry of VᵀV is above its trace, none of its diagonal is negative, and ‖Vᵀy‖² ≤ ‖V‖²‖y‖².
        """
        if len(self._G) and self.classes:
            lowest, highest = (float(end) for end in torch.aminmax(self._G))
            largest, least_square = max(-lowest, highest), float(self._G.diagonal().min())
            if largest > (1 + ROUNDING_SHARE) * squares or least_square < -ROUNDING_SHARE * squares:
                return False
        lengths = torch.linalg.vector_norm(self._Q.double(), dim=0)
        bounds = (1 + ROUNDING_SHARE) * squares * (self.weights + ROUNDING_SHARE * weight)
        return bool((lengths <= bounds.clamp(min=0).sqrt()).all())

    def have_room_for(self, other: Statistics) -> bool:
        """Return whether the sum of both is within the bounds of a file."""
        samples = self.samples + self.nameless + other.samples + other.nameless
        weight = self.weight + self.nameless_weight + other.weight + other.nameless_weight
        most = largest_sum(self._Q.dtype)
        return samples <= MOST_SAMPLES and weight <= MOST_WEIGHT and self.trace + other.trace <= most

    def fit_ones(self) -> bool:
        """Return whether the last feature can be one in all samples, so that its sums are the weights."""
        slack = ROUNDING_SHARE * self.weights + torch.finfo(self._Q.dtype).eps * MOST_FORGOTTEN
        together = abs(float(self._G[-1, -1]) - self.weight) <= float(slack.sum()) if len(self._G) else True
        return together and bool(((self._Q[-1].double() - self.weights).abs() <= slack).all())

    def _derived(self, G: Tensor, Q: Tensor, features: int | None) -> Statistics:
        """Return statistics of the same samples with another G and Q."""
        statistics = Statistics(0)
        statistics._G, statistics._Q, statistics.features = G, Q, features
        statistics._only_waiting = False
        statistics.counts, statistics.weights = self.counts, self.weights
        statistics.nameless, statistics.nameless_weight = self.nameless, self.nameless_weight
        return statistics

    def _counted(self, V: Tensor, y: Tensor, mask: Tensor | None, weights: Tensor | None, sign: int) -> Rows:
        """Change the counts by these samples, and return their rows, zero where the mask does not select a sample."""
        V, signs = V.to(self._Q.dtype), torch.full_like(y, sign)
        if mask is not None:
            V, signs = torch.where(mask[:, None], V, 0), signs * mask
        self.counts.scatter_add_(0, y, signs)
        sums = torch.zeros_like(self.weights)
        # Unlike `scatter_add_`, it adds in a fixed order also on a GPU.
        sums.index_put_((y,), signs.double() if weights is None else signs * weights, accumulate=True)
        self.weights = _where_counted(self.weights + sums, self.counts)
        return Rows(V, y, weights)

    def _wait(self, rows: Rows) -> None:
        self._waiting.append(rows)
        if sum(len(rows.V) for rows in self._waiting) >= FEW_ROWS:
            self._add_waiting()

    def _add_waiting(self) -> None:
        if self._waiting:
            check_precision(self._G.device)
            with uninterrupted():  # G is filled block by block, and predictions may be the first to need it
                before, self.whole = self.whole, False
                self._add(self._waiting_rows(), 1)
                self._waiting = []
                self.whole = before

    def _waiting_rows(self) -> Rows:
        if len(self._waiting) > 1:
            V, y, weights = zip(*self._waiting, strict=True)
            if any(part is not None for part in weights):
                ones = (torch.ones_like(rows.y, dtype=torch.float64) for rows in self._waiting)
                filled = [one if part is None else part for part, one in zip(weights, ones, strict=True)]
                self._waiting = [Rows(torch.cat(V), torch.cat(y), torch.cat(filled))]
            else:
                self._waiting = [Rows(torch.cat(V), torch.cat(y))]
        return self._waiting[0]

    def _add(self, rows: Rows, sign: int) -> None:
        self._only_waiting = False
        self._Q = _with_class_sums(self._Q, rows, sign)  # first, while V is in the cache
        if len(self._G):
            self._G = _with_gram(self._G, rows, sign)


def largest_sum(dtype: torch.dtype) -> float:
    """Return the largest entry of G and Q that a file may have."""
    return float(torch.finfo(dtype).max ** LARGEST_SUM_EXPONENT)


def _where_counted(weights: Tensor, counts: Tensor) -> Tensor:
    """Return weights without the rounding errors that subtracting leaves behind in classes without samples."""
    return torch.where(counts > 0, weights, 0.0)


def _few(rows: Rows, width: int) -> bool:
    """Return whether rows are added in float64.

    Then their order, and whether a sample is repeated or has a weight, hardly ever changes a bit of the sum.
    """
    return len(rows.V) < FEW_ROWS and width < WIDE_LAYER


def _with_gram(G: Tensor, rows: Rows, sign: int) -> Tensor:
    """Return G ± VᵀWV: a copy where the rows are few, otherwise G itself."""
    if _few(rows, len(G)):
        # Not with the roots of the weights: those of two and three are rounded, and their squares are not 2 and 3.
        V = rows.V.double()
        weighted = V if rows.weights is None else V * rows.weights[:, None]
        return torch.addmm(G.double(), weighted.T, V, alpha=sign).to(G.dtype)
    V = rows.scaled
    if by_halves(V, terms=len(V)):
        add_gram_of_halves(G, Halves(V, inner=0), sign)
    else:
        add_gram(G, V, sign)
    return G


def _with_class_sums(Q: Tensor, rows: Rows, sign: int) -> Tensor:
    """Return Q ± VᵀWY, each sample added to its class, always in the same order: a copy where the rows are few."""
    few, y = _few(rows, len(Q)), rows.y
    V = rows.V.double() if few else rows.V
    if rows.weights is not None:
        V = V * rows.weights.to(V.dtype)[:, None]
    result = Q.to(V.dtype, copy=True) if few else Q
    if V.device.type == "cuda":  # `index_add_` has no fixed order there, and `unique` makes the host wait
        result.add_(V.new_zeros(Q.T.shape).index_put_((y,), V, accumulate=True).T, alpha=sign)
    else:
        present, place = y.unique(return_inverse=True)
        result[:, present] += V.new_zeros(len(present), V.shape[1]).index_add_(0, place, V, alpha=sign).T
    return result.to(Q.dtype)


def one_hot(y: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """Return Y, samples × classes."""
    return torch.zeros(len(y), classes, dtype=dtype, device=y.device).scatter_(1, y.unsqueeze(1), 1.0)
