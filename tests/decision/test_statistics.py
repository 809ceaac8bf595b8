"""n, G and Q: adding, subtracting and merging are exact, and G needs its lower triangle only."""

import pytest
import torch
from layers import counted

from if2net.decision.statistics import Statistics, one_hot
from if2net.decision.symmetric import BLOCK, symmetric, symmetric_product
from if2net.few_rows import FEW_ROWS, WIDE_LAYER

WIDTHS = [5, BLOCK + 150]  # one block row, and two of different heights


def spoil_unwritten_part(statistics):
    """Fill the part above the diagonal blocks, which is never read, with NaN."""
    statistics.G[:BLOCK, BLOCK:] = torch.nan
    return statistics


def assert_counts(statistics, V, y, classes):
    """Check the statistics against VᵀV and VᵀY, computed directly."""
    tolerance = {"rtol": 1e-12, "atol": 1e-11}
    torch.testing.assert_close(symmetric(statistics.G), V.T @ V, **tolerance)
    torch.testing.assert_close(statistics.Q, V.T @ one_hot(y, classes, V.dtype), **tolerance)
    assert statistics.counts.tolist() == [int((y == label).sum()) for label in range(classes)]
    assert statistics.samples == len(y)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("batch", [1, 9, 40])
def test_batches_add_up_to_the_statistics_of_all_data(task, width, batch):
    V, y = task(40, width, 3)
    statistics = Statistics(width, torch.float64)
    statistics.grow(3)
    for part, labels in zip(V.split(batch), y.split(batch), strict=True):
        statistics.add(part, labels)
    assert_counts(statistics, V, y, 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_subtracting_undoes_adding(task, width):
    V, y = task(40, width, 3)
    statistics = counted(V, y, 3)
    statistics.subtract(V[:15], y[:15])
    assert_counts(statistics, V[15:], y[15:], 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_only_the_rows_that_a_mask_selects_are_counted(task, width):
    V, y = task(40, width, 3)
    mask = torch.arange(40) % 3 == 0
    statistics = counted(V, y, 3)
    statistics.subtract(V, y, ~mask)
    assert_counts(statistics, V[mask], y[mask], 3)
    statistics.add(V, y, ~mask)
    assert_counts(statistics, V, y, 3)


def test_merging_equals_counting_together_with_classes_in_any_order(task):
    V, y = task(40, BLOCK + 150, 3)
    ours = counted(V[:25], y[:25], 3)
    columns = torch.tensor([2, 0, 1])  # their class k is our class columns[k]
    theirs = counted(V[25:], torch.argsort(columns)[y[25:]], 3)
    ours.merge(theirs, columns)
    assert_counts(ours, V, y, 3)


def test_merging_equals_counting_together_whichever_rows_a_mask_selects(task):
    """On a GPU, all rows of a batch wait to be added, as many as there may be samples of other batches."""
    V, y = task(FEW_ROWS + 14, 5, 3)
    mask = torch.zeros(len(V), dtype=torch.bool)
    mask[:13] = mask[-1] = True
    both, other = counted(V[:0], y[:0], classes=3), counted(V[:0], y[:0], classes=3)
    other.add(V[:FEW_ROWS], y[:FEW_ROWS], mask[:FEW_ROWS])
    other.add(V[FEW_ROWS:], y[FEW_ROWS:], mask[FEW_ROWS:])
    both.merge(other, torch.arange(3))
    assert_counts(both, V[mask], y[mask], 3)


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


def test_classes_that_are_not_kept_are_removed(task):
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
def test_products_need_the_lower_triangle_only(task, width):
    V, y = task(40, width, 3)
    statistics = spoil_unwritten_part(counted(V, y, 3))
    B = torch.randn(width, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(symmetric_product(statistics.G, B), V.T @ V @ B, rtol=1e-10, atol=1e-8)
    torch.testing.assert_close(symmetric(statistics.G), V.T @ V, rtol=1e-12, atol=1e-11)


def test_restored_statistics_can_count_on(task):
    V, y = task(40, 6, 3)
    restored = Statistics(6, torch.float64)
    restored.restore("part", dict(counted(V[:20], y[:20], 3).tensors("part")))
    restored.add(V[20:], y[20:])
    assert_counts(restored, V, y, 3)


def test_features_are_converted_to_the_precision_of_the_statistics(task):
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


def test_taking_out_statistics_undoes_merging_them(task):
    V, y = task(40, BLOCK + 150, 3)
    statistics = counted(V, y, 3)
    assert statistics.trace == pytest.approx(float(V.square().sum()))
    statistics.take_out(counted(V[:15], y[:15], 3))
    assert_counts(statistics, V[15:], y[15:], 3)


@pytest.mark.parametrize("width", [3, WIDE_LAYER])
def test_single_samples_count_after_tens_of_millions(width):
    """Samples of ones, added one by one to float32 sums that a single one no longer changes."""
    before = 2**25
    statistics = Statistics(width)
    G = torch.full((width, width), float(before))
    statistics.restore(
        "s", {"s.G": G, "s.Q": torch.full((width, 1), float(before)), "s.counts": torch.tensor([before])}
    )
    for _ in range(300):
        statistics.add(torch.ones(1, width), torch.zeros(1, dtype=torch.int64))
        _ = statistics.Q
    for sums in (statistics.G[-1, :3], statistics.Q[:3, 0], torch.tensor([statistics.trace / width])):
        assert (sums.double() - before - 300).abs().max() <= FEW_ROWS
    assert statistics.samples == before + 300


def test_samples_added_one_by_one_equal_samples_added_at_once():
    """Sums that take each sample by itself in float32 differ by 5e-6, which is more than is allowed."""
    generator = torch.Generator().manual_seed(0)
    V, y = 3 + torch.randn(20_000, 20, generator=generator), torch.randint(0, 3, (20_000,), generator=generator)
    one_by_one, at_once = Statistics(20), counted(V, y, 3)
    one_by_one.grow(3)
    for row, label in zip(V.split(1), y.split(1), strict=True):
        one_by_one.add(row, label)
    for name in ("G", "Q"):
        lower = torch.tril if name == "G" else torch.clone
        torch.testing.assert_close(lower(getattr(one_by_one, name)), lower(getattr(at_once, name)), rtol=4e-6, atol=0)
    assert one_by_one.counts.tolist() == at_once.counts.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_of_a_few_samples_are_as_many_equal_samples_to_the_bit(seed):
    generator = torch.Generator().manual_seed(seed)
    V, y = torch.randn(20, 200, generator=generator), torch.randint(0, 3, (20,), generator=generator)
    weights = torch.randint(1, 6, (20,), generator=generator)
    V[:, -1] = 1.0
    V[:, :-1] -= (weights.float() @ V / weights.sum())[:-1]  # sums that cancel show every rounding
    again = torch.arange(20).repeat_interleave(weights)
    again = again[torch.randperm(len(again), generator=generator)]
    weighted, repeated = Statistics(200), Statistics(200)
    for statistics, added in ((weighted, (V, y, None, weights.double())), (repeated, (V[again], y[again]))):
        statistics.grow(3)
        statistics.add(*added)
    assert torch.equal(weighted.G.tril(), repeated.G.tril())
    assert torch.equal(weighted.Q, repeated.Q)
