"""Held-out samples are selected by their content alone."""

import pytest
import torch

from if2net.holdout import content_hashes
from if2net.holdout import held_out as held_out_of

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def held_out(X, share):
    return held_out_of(content_hashes(X), share)


def samples(kind="gaussian", count=9000, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    if kind == "gaussian":
        return torch.randn(count, 4, generator=generator, dtype=dtype)
    if kind == "pixels":
        return torch.randint(0, 256, (count, 16), generator=generator).to(dtype)
    if kind == "binary":
        return torch.randint(0, 2, (count, 40), generator=generator).to(dtype)
    return torch.arange(count, dtype=dtype).unsqueeze(1)


@each_dtype
@pytest.mark.parametrize("kind", ["gaussian", "pixels", "binary", "counting"])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_about_the_given_share_is_held_out(kind, dtype, share):
    assert float(held_out(samples(kind, dtype=dtype), share).double().mean()) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (1.0, 9000)])
def test_nothing_and_everything_can_be_held_out(share, count):
    assert int(held_out(samples(), share).sum()) == count


@each_dtype
def test_the_order_of_the_samples_does_not_matter(dtype):
    X = samples(dtype=dtype)
    order = torch.randperm(len(X), generator=torch.Generator().manual_seed(1))
    assert torch.equal(held_out(X[order], 0.1), held_out(X, 0.1)[order])


@each_dtype
@pytest.mark.parametrize("batch", [1, 7, 5000])
def test_the_other_samples_of_a_batch_do_not_matter(dtype, batch):
    X = samples(count=6000 if batch > 7 else 60, dtype=dtype)
    assert torch.equal(torch.cat([held_out(part, 0.3) for part in X.split(batch)]), held_out(X, 0.3))


@each_dtype
def test_minus_zero_counts_as_zero(dtype):
    X = samples("binary", dtype=dtype)
    assert torch.equal(held_out(torch.where(X == 0, -0.0, X), 0.3), held_out(X, 0.3))


def test_a_larger_share_holds_out_the_same_samples_and_others():
    few, more = held_out(samples(), 0.1), held_out(samples(), 0.2)
    assert bool(more[few].all())
    assert more.sum() > few.sum()


def test_the_layout_in_memory_does_not_matter():
    X = samples()
    assert torch.equal(held_out(X.T.contiguous().T, 0.2), held_out(X, 0.2))
