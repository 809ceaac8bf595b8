"""The projector onto the directions that nothing learned so far uses."""

from itertools import pairwise

import pytest
import torch

from if2net.decision.projector import RecursiveProjector, free_share, healthy, projector
from if2net.errors import NumericalError

each_alpha = pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])


def recursion(batches, width, alpha, **settings):
    recursive = RecursiveProjector(width, alpha, **settings)
    for batch in batches:
        recursive.update(batch)
    return recursive.P


@each_alpha
@pytest.mark.parametrize("samples", [6, 50])
def test_the_projector_equals_the_definition_of_the_paper(task, alpha, samples):
    V, _ = task(samples, 12, 2)
    eye = torch.eye(samples, dtype=V.dtype)
    expected = torch.eye(12, dtype=V.dtype) - V.T @ torch.linalg.solve(V @ V.T + alpha * eye, V)
    torch.testing.assert_close(projector(V.T @ V, alpha), expected, rtol=0, atol=1e-9)


@each_alpha
@pytest.mark.parametrize("batch", [1, 7, 16, 50])
def test_the_recursion_over_batches_equals_the_projector_of_all_data(task, alpha, batch):
    V, _ = task(50, 12, 2)
    P = recursion(V.split(batch), 12, alpha)
    torch.testing.assert_close(P, projector(V.T @ V, alpha), rtol=0, atol=1e-8)
    assert torch.equal(P, P.T)


def test_batch_mean_equals_the_recursion_on_the_means_of_the_batches(task):
    V, _ = task(50, 12, 2)
    means = [batch.mean(dim=0, keepdim=True) for batch in V.split(8)]
    P = recursion(V.split(8), 12, 0.1, batch_mean=True)
    torch.testing.assert_close(P, recursion(means, 12, 0.1), rtol=0, atol=1e-12)
    assert free_share(P) > free_share(recursion(V.split(8), 12, 0.1))
    assert torch.equal(P, P.T)


def test_used_directions_are_blocked_and_unused_ones_stay_free(task):
    V, _ = task(60, 12, 2, rank=4)
    P = projector(V.T @ V, 1e-6)
    unused = torch.linalg.svd(V)[2][4:]
    assert (V @ P).abs().max() < 1e-5
    torch.testing.assert_close(unused @ P, unused, rtol=0, atol=1e-5)
    assert free_share(P) == pytest.approx(8 / 12, abs=1e-5)


def test_the_free_share_falls_with_every_batch(task):
    V, _ = task(50, 12, 2)
    recursive = RecursiveProjector(12, 0.1)
    shares = [free_share(recursive.P)]
    for batch in V.split(5):
        recursive.update(batch)
        shares.append(free_share(recursive.P))
    assert shares[0] == 1
    assert all(later < earlier for earlier, later in pairwise(shares))
    assert shares[-1] > 0


@pytest.mark.parametrize("value", [-1.0, 2.0, torch.nan, torch.inf])
def test_a_corrupted_projector_is_detected_and_not_updated(task, value):
    V, _ = task(10, 12, 2)
    recursive = RecursiveProjector(12, 0.1)
    recursive.update(V)
    recursive.P[3, 3] = value
    before = recursive.P
    with pytest.raises(NumericalError, match=r"lost positive-definiteness.*projector='exact'.*larger alpha\.$"):
        recursive.update(0.01 * V)
    assert recursive.P is before


def test_an_unchecked_projector_continues_and_can_be_checked_later(task):
    V, _ = task(10, 12, 2)
    recursive = RecursiveProjector(12, 0.1, checked=False)
    recursive.update(V)
    assert healthy(recursive.P)
    recursive.P[3, 3] = 2.0
    recursive.update(0.01 * V)
    assert not healthy(recursive.P)


def test_the_recursion_computes_in_float64_for_float32_features(task):
    V, _ = task(200, 12, 2)
    P = recursion(V.float().split(10), 12, 1e-3)
    wide = V.float().double()
    torch.testing.assert_close(P, projector(wide.T @ wide, 1e-3), rtol=0, atol=1e-8)


def test_a_projector_that_makes_the_update_singular_is_detected():
    recursion = RecursiveProjector(2, 1.0)
    recursion.P = -torch.eye(2, dtype=torch.float64)
    with pytest.raises(NumericalError, match="lost positive-definiteness"):
        recursion.update(torch.eye(2))
