import pytest
import torch

from if2net.decision import symmetric as symmetric_module
from if2net.decision.statistics import Statistics, one_hot
from if2net.decision.symmetric import (
    BLOCK,
    add_gram,
    cholesky,
    pack,
    symmetric,
    symmetric_norm,
    symmetric_product,
    unpack,
    zeros,
)

WIDTHS = [5, BLOCK + 150]  # one block row, and two of different heights


def counted(V, y, classes):
    statistics = Statistics(V.shape[1], V.dtype)
    statistics.grow(classes)
    statistics.add(V, y)
    return statistics


def spoil_unwritten_part(statistics):
    """What lies above the diagonal blocks is never read: it may as well hold nonsense."""
    statistics.G[:BLOCK, BLOCK:] = torch.nan
    return statistics


def assert_counts(statistics, V, y, classes):
    """The statistics are those of V and y, computed directly."""
    tolerance = {"rtol": 1e-12, "atol": 1e-11}
    torch.testing.assert_close(symmetric(statistics.G), V.T @ V, **tolerance)
    torch.testing.assert_close(statistics.Q, V.T @ one_hot(y, classes, V.dtype), **tolerance)
    assert statistics.counts.tolist() == [int((y == label).sum()) for label in range(classes)]
    assert statistics.samples == len(y)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("batch", [1, 9, 40])
def test_batches_add_up_to_the_direct_computation(task, width, batch):
    V, y = task(40, width, 3)
    statistics = Statistics(width, torch.float64)
    statistics.grow(3)
    for part, labels in zip(V.split(batch), y.split(batch), strict=True):
        statistics.add(part, labels)
    assert_counts(statistics, V, y, 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_subtracted_was_never_there(task, width):
    V, y = task(40, width, 3)
    statistics = counted(V, y, 3)
    statistics.subtract(V[:15], y[:15])
    assert_counts(statistics, V[15:], y[15:], 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_a_mask_leaves_out_does_not_count(task, width):
    V, y = task(40, width, 3)
    mask = torch.arange(40) % 3 == 0
    statistics = counted(V, y, 3)
    statistics.subtract(V, y, ~mask)
    assert_counts(statistics, V[mask], y[mask], 3)
    statistics.add(V, y, ~mask)
    assert_counts(statistics, V, y, 3)


def test_a_merge_is_as_if_one_had_seen_both_whatever_the_order_of_their_classes(task):
    V, y = task(40, BLOCK + 150, 3)
    ours = counted(V[:25], y[:25], 3)
    columns = torch.tensor([2, 0, 1])  # their class k is our class columns[k]
    theirs = counted(V[25:], torch.argsort(columns)[y[25:]], 3)
    ours.merge(theirs, columns)
    assert_counts(ours, V, y, 3)


def test_classes_can_appear_after_others_were_counted(task):
    V, y = task(30, 6, 2)
    statistics = counted(V, y, 2)
    statistics.grow(4)
    more, labels = task(20, 6, 4, seed=1)
    statistics.add(more, labels)
    assert_counts(statistics, torch.cat([V, more]), torch.cat([y, labels]), 4)


def test_growing_to_fewer_classes_changes_nothing(task):
    statistics = counted(*task(30, 6, 3), 3)
    statistics.grow(1)
    assert statistics.classes == 3


def test_classes_that_are_not_kept_are_gone(task):
    V, y = task(40, 6, 3)
    statistics = counted(V, y, 3)
    statistics.subtract(V[y == 1], y[y == 1])
    statistics.keep(torch.tensor([0, 2]))
    assert_counts(statistics, V[y != 1], y[y != 1] // 2, 2)


def test_an_empty_batch_counts_nothing(task):
    V, y = task(20, 6, 3)
    statistics = counted(V, y, 3)
    statistics.add(V[:0], y[:0])
    assert_counts(statistics, V, y, 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_lower_triangle_is_enough_for_products_and_for_the_whole(task, width):
    V, y = task(40, width, 3)
    statistics = spoil_unwritten_part(counted(V, y, 3))
    B = torch.randn(width, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(symmetric_product(statistics.G, B), V.T @ V @ B, rtol=1e-10, atol=1e-8)
    torch.testing.assert_close(symmetric(statistics.G), V.T @ V, rtol=1e-12, atol=1e-11)


def test_restored_statistics_go_on_where_they_were(task):
    V, y = task(40, 6, 3)
    restored = Statistics(6, torch.float64)
    restored.restore("part", dict(counted(V[:20], y[:20], 3).tensors("part")))
    restored.add(V[20:], y[20:])
    assert_counts(restored, V, y, 3)


def test_features_of_another_precision_are_counted_in_the_own_one(task):
    V, y = task(40, 6, 3)
    statistics = Statistics(6, torch.float64)
    statistics.grow(3)
    statistics.add(V.float(), y)
    assert_counts(statistics, V.float().double(), y, 3)


def test_without_the_gram_matrix_sums_and_counts_are_the_same(task):
    V, y = task(40, 7, 3)
    sums, whole = Statistics(7, torch.float64, gram=False), counted(V, y, 3)
    sums.grow(3)
    sums.add(V, y)
    assert (sums.width, sums.G.numel()) == (7, 0)
    assert torch.equal(sums.Q, whole.Q)
    assert torch.equal(sums.counts, whole.counts)


@pytest.mark.parametrize("width", [7, BLOCK + 20])
def test_the_norm_of_G_needs_its_lower_triangle_only(task, width):
    V, y = task(50, width, 2)
    statistics = Statistics(width, torch.float64)
    statistics.grow(2)
    statistics.add(V, y)
    assert symmetric_norm(statistics.G) == pytest.approx(float((V.T @ V).norm()), rel=1e-12)


@pytest.mark.parametrize("width", [3, BLOCK, 2 * BLOCK + 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_adding_and_subtracting_leave_the_gram_matrix_of_what_is_left(width, dtype):
    V = torch.randn(40, width, dtype=dtype, generator=torch.Generator().manual_seed(0))
    G = zeros(width, dtype, "cpu")
    for part, sign in ((V, 1), (V[:, :], 1), (V[:10], -1)):
        add_gram(G, part, sign)
    expected = 2 * V.T @ V - V[:10].T @ V[:10]
    torch.testing.assert_close(symmetric(G), expected, rtol=1e-4, atol=1e-4)


def test_a_matrix_that_blas_cannot_update_in_place_is_updated_all_the_same():
    V = torch.randn(9, 5, dtype=torch.float64)
    G = torch.zeros(5, 10, dtype=torch.float64)[:, ::2]
    add_gram(G, V, 1)
    torch.testing.assert_close(symmetric(G), V.T @ V)


@pytest.mark.parametrize("width", [1, BLOCK, 2 * BLOCK + 7])
@pytest.mark.parametrize("way", ["by LAPACK", "by blocks"])
def test_the_factor_is_the_factor_either_way(way, width, monkeypatch):
    if way == "by blocks":  # as on a GPU
        monkeypatch.setattr(symmetric_module, "_factorise_by_lapack", symmetric_module._factorise_by_blocks)
    V = torch.randn(width + 5, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    G = zeros(width, torch.float64, "cpu")
    add_gram(G, V, 1)
    lower = torch.tril(cholesky(G, 2.0, torch.float64))[:width, :width]
    torch.testing.assert_close(lower @ lower.T, V.T @ V + 2 * torch.eye(width, dtype=torch.float64))
    G[-1, -1] = -1e6
    assert cholesky(G, 2.0, torch.float64) is None


def test_the_norm_of_large_entries_is_finite():
    G = torch.full((3, 3), 1e25)
    assert symmetric_norm(G) == pytest.approx(3e25, rel=1e-6)


def test_what_is_taken_out_was_never_there(task):
    V, y = task(40, BLOCK + 150, 3)
    statistics = counted(V, y, 3)
    assert statistics.trace == pytest.approx(float(V.square().sum()))
    statistics.take_out(counted(V[:15], y[:15], 3))
    assert_counts(statistics, V[15:], y[15:], 3)


@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_packing_a_triangle_and_unpacking_it_gives_all_of_the_matrix(width):
    A = torch.randn(width + 3, width, dtype=torch.float64)
    G = A.T @ A
    packed = pack(torch.tril(G))
    assert packed.numel() == width * (width + 1) // 2
    lower = torch.tril(G)
    assert torch.equal(unpack(packed, width), lower + torch.tril(lower, -1).T)
