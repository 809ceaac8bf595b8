"""The analytic rule: β is the joint ridge solution, whatever was learned, forgotten or merged, in any order."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import learned_layer

from if2net.decision import Analytic, RuleConfig
from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.statistics import Statistics, one_hot

# Largest relative error of β, and smallest share of equal predictions.
PRECISION = {torch.float64: (1e-9, 0.9999), torch.float32: (1e-3, 0.999)}
each_precision = pytest.mark.parametrize("dtype", PRECISION)
many_cases = settings(max_examples=60, deadline=None)


@dataclass
class Stream:
    """Data, its order, and the places where it is split into batches."""

    seed: int
    samples: int
    width: int
    classes: int
    by_class: bool
    cuts: list[float]
    ridge: float

    def arrays(self, task):
        V, y = task(self.samples, self.width, self.classes, seed=self.seed)
        generator = torch.Generator().manual_seed(self.seed + 1)
        shuffled = torch.randperm(self.samples, generator=generator)
        order = torch.argsort(y) if self.by_class else shuffled
        held = torch.rand(self.samples, generator=generator) < 0.2
        return V[order], y[order], held

    def batches(self, V, y, held):
        edges = [0, *sorted(int(cut * self.samples) for cut in self.cuts), self.samples]
        return [(V[a:b], y[a:b], held[a:b]) for a, b in pairwise(edges)]


def streams(samples, width):
    return st.builds(
        Stream,
        seed=st.integers(0, 2**31),
        samples=st.integers(*samples),
        width=st.integers(*width),
        classes=st.integers(1, 6),
        by_class=st.booleans(),
        cuts=st.lists(st.floats(0, 1), max_size=12),
        ridge=st.floats(-3, 0).map(lambda exponent: 10.0**exponent),
    )


# In float64 there may be fewer samples than features; float32 is promised for well-posed data only.
STREAMS = {
    torch.float64: streams(samples=(1, 150), width=(1, 25)),
    torch.float32: streams(samples=(60, 200), width=(2, 15)),
}


class Learner:
    """The analytic layer, with its columns in the order in which classes appear."""

    def __init__(self, stream, dtype):
        self.stream, self.dtype = stream, dtype
        self.layer = Analytic(stream.width, RuleConfig(ridge=stream.ridge), dtype, "cpu")
        self.seen = []

    def learn(self, V, y, held):
        self.seen += [label for label in dict.fromkeys(y.tolist()) if label not in self.seen]
        self.layer.grow(len(self.seen))
        self.layer.add(V.to(self.dtype), self.columns(y), held)

    def merge(self, V, y, held):
        other = Learner(self.stream, self.dtype)
        other.learn(V, y, held)
        self.seen += [label for label in other.seen if label not in self.seen]
        self.layer.merge(other.layer, self.columns(torch.tensor(other.seen)), len(self.seen))

    def forget(self, V, y, held):
        self.layer.subtract(V.to(self.dtype), self.columns(y), held)
        left = self.layer.total.counts.nonzero().flatten()
        self.layer.keep(left)
        self.seen = [self.seen[column] for column in left.tolist()]

    def columns(self, y):
        return torch.tensor([self.seen.index(label) for label in y.tolist()], dtype=torch.int64)

    def assert_is_ridge_regression_on(self, V, y, ridge):
        """β and its predictions for new samples are those of one ridge regression on all of V and y."""
        G = V.T @ V
        alpha = ridge * float(G.trace()) / len(G)
        Y = one_hot(self.columns(y), len(self.seen), V.dtype)
        expected = torch.linalg.solve(G + alpha * torch.eye(len(G), dtype=V.dtype), V.T @ Y)
        most_error, least_agreement = PRECISION[self.dtype]
        beta = self.layer.beta.double()
        assert float((beta - expected).norm() / expected.norm()) <= most_error
        new = torch.randn(10_000, len(G), generator=torch.Generator().manual_seed(0), dtype=V.dtype)
        agreement = ((new @ beta).argmax(dim=1) == (new @ expected).argmax(dim=1)).double().mean()
        assert float(agreement) >= least_agreement


def drawn(data, dtype, task):
    """Return a stream, its samples, and a learner that has learned none of them."""
    stream = data.draw(STREAMS[dtype])
    return stream, stream.arrays(task), Learner(stream, dtype)


@each_precision
@pytest.mark.parametrize("take_in", [Learner.learn, Learner.merge])
@many_cases
@given(data=st.data())
def test_any_split_and_order_equals_ridge_regression_on_all_data_at_once(task, take_in, dtype, data):
    stream, (V, y, held), learner = drawn(data, dtype, task)
    for batch in stream.batches(V, y, held):
        take_in(learner, *batch)
    learner.assert_is_ridge_regression_on(V, y, stream.ridge)


@each_precision
@many_cases
@given(data=st.data(), share=st.floats(0, 0.5))
def test_subtracting_equals_never_having_learned(task, dtype, data, share):
    stream, (V, y, held), learner = drawn(data, dtype, task)
    learner.learn(V, y, held)
    forgotten = int(share * stream.samples)
    learner.forget(V[:forgotten], y[:forgotten], held[:forgotten])
    learner.assert_is_ridge_regression_on(V[forgotten:], y[forgotten:], stream.ridge)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_the_recursion_equals_the_joint_solution_at_every_step(task, alpha):
    V, y = task(60, 10, 4)
    statistics = Statistics(10, torch.float64)
    beta = torch.zeros(10, 0, dtype=torch.float64)
    for classes, rows in ((2, y < 2), (3, y == 2), (4, y == 3)):
        statistics.grow(classes)
        beta = torch.nn.functional.pad(beta, (0, classes - beta.shape[1]))
        for part, labels in zip(V[rows].split(7), y[rows].split(7), strict=True):
            statistics.add(part, labels)
            residual = one_hot(labels, classes, V.dtype) - part @ beta
            beta = beta + solve(statistics.G, part.T @ residual, alpha)
            joint = solve(statistics.G, statistics.Q, alpha)
            torch.testing.assert_close(beta, joint, rtol=1e-8, atol=1e-8)


@pytest.fixture
def layer(task):
    """A layer that has learned 300 samples of four classes and chooses its ridge."""
    return learned_layer(*task(300, 12, 4), torch.arange(300) % 5 == 0)


def test_beta_is_solved_again_after_every_change(task, layer):
    V, y = task(50, 12, 4, seed=1)
    held = torch.zeros(50, dtype=torch.bool)
    before = layer.beta
    assert layer.beta is before
    layer.add(V, y, held)
    assert not torch.allclose(layer.beta, before)
    layer.subtract(V, y, held)
    torch.testing.assert_close(layer.beta, before)


def test_held_out_samples_choose_the_ridge_and_are_part_of_beta(layer):
    assert layer.held.samples == 60
    assert int(layer.total.counts.sum()) == 300
    alpha = absolute_ridge(layer.total.G, layer.ridge)
    torch.testing.assert_close(layer.beta, solve(layer.total.G, layer.total.Q, alpha))


def test_a_given_ridge_is_used_as_it_is(task, layer):
    given_ridge = Analytic(12, RuleConfig(ridge=0.5), torch.float64, "cpu")
    given_ridge.restore(dict(layer.tensors()))
    assert given_ridge.ridge == 0.5 != layer.ridge


def test_a_restored_layer_has_the_same_beta_and_temperature(layer):
    restored = Analytic(12, RuleConfig(), torch.float64, "cpu")
    restored.restore(dict(layer.tensors()))
    assert torch.equal(restored.beta, layer.beta)
    assert restored.temperature == layer.temperature


@pytest.mark.parametrize("held_out", ["some", "none", "all"])
def test_the_temperature_is_fitted_with_any_share_held_out(task, held_out):
    some = torch.arange(200) % 5 == 0
    held = {"some": some, "none": torch.zeros_like(some), "all": torch.ones_like(some)}[held_out]
    layer = learned_layer(*task(200, 12, 4), held)
    assert 0 < layer.temperature < 1


def test_removed_classes_leave_no_trace(task):
    V, y = task(120, 12, 3)
    nothing = torch.zeros(120, dtype=torch.bool)
    layer = learned_layer(V, y, nothing, classes=3, ridge=0.1)
    layer.subtract(V[y == 1], y[y == 1], nothing[y == 1])
    layer.keep(torch.tensor([0, 2]))
    without = learned_layer(V[y != 1], y[y != 1] // 2, nothing[y != 1], classes=2, ridge=0.1)
    torch.testing.assert_close(layer.beta, without.beta)
    assert torch.equal(layer.total.counts, without.total.counts)


def test_the_free_share_falls_as_more_is_learned(task):
    V, y = task(40, 12, 2, rank=8)
    layer = Analytic(12, RuleConfig(ridge=1e-3), torch.float64, "cpu")
    layer.grow(2)
    shares = [layer.free_share()]
    for part, labels in zip(V.split(4)[:3], y.split(4)[:3], strict=True):
        layer.add(part, labels, torch.zeros(4, dtype=torch.bool))
        shares.append(layer.free_share())
    assert shares[0] == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == pytest.approx(4 / 12, abs=0.05)


def test_a_chosen_ridge_that_is_too_small_for_the_rounding_of_G_is_raised():
    layer = learned_layer(torch.eye(4).repeat(100, 1), torch.arange(400) % 2, torch.arange(400) % 5 == 0, classes=2)
    chosen = layer.ridge
    layer.total.G[3, 3] = -10 * chosen * layer.total.G[0, 0]  # as if by rounding
    assert bool(torch.isfinite(layer.beta).all())
    assert layer.ridge > chosen


def test_a_temperature_is_found_where_rounding_is_all_that_is_left_beside_held_out_samples():
    layer = learned_layer(torch.eye(4).repeat(100, 1), torch.arange(400) % 2, torch.arange(400) < 6, classes=2)
    layer.total.G[3, 3] = 0.5  # as if by rounding; the held-out samples have 1
    assert 0 < layer.temperature < 100
