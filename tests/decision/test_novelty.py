"""The novelty of samples and its limits, from statistics instead of samples."""

import pytest
import torch

from if2net.decision.novelty import TAILS, WEIGHT, Novelty
from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.statistics import one_hot
from if2net.errors import InputError


def product(B):
    return lambda V: V @ B


@pytest.fixture(scope="module")
def parts(counted):
    """Samples of five classes, with heavy tails: to fit, held out and new; and statistics of the first two."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(5, (3000,), generator=generator)
    normal = torch.randn(3000, 40 + TAILS, dtype=torch.float64, generator=generator)
    V = normal[:, :40] * ((TAILS - 2) / normal[:, 40:].square().sum(dim=1, keepdim=True)).sqrt()
    V[:, :5] += 4 * one_hot(y, 5, V.dtype)
    return V[200:1000], V[:200], V[1000:], (counted(V[:1000], y[:1000]), counted(V[:200], y[:200]))


def test_novelty_is_the_weighted_relative_leverage_minus_the_score_of_the_winner(parts):
    fitted, held_out, new, (total, held) = parts
    novelty = Novelty.of(total, held, 1e-2, slice(None), product)
    inverse = torch.linalg.inv(
        fitted.T @ fitted + absolute_ridge(fitted.T @ fitted, 1e-2) * torch.eye(40, dtype=torch.float64)
    )
    mean = ((held_out @ inverse) * held_out).sum(dim=1).mean()
    scores = torch.randn(len(new), 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = WEIGHT * ((new @ inverse) * new).sum(dim=1) / mean - scores.amax(dim=1)
    torch.testing.assert_close(novelty(new, scores), expected, rtol=0.05, atol=0.05)  # d is estimated


def test_about_the_share_asked_for_of_new_samples_of_known_classes_is_beyond_the_limit(parts):
    _, _, new, (total, held) = parts
    novelty = Novelty.of(total, held, 1e-2, slice(None), product)
    values = novelty(new, new @ solve(total.G, total.Q, absolute_ridge(total.G, 1e-2)))
    shares = [float((values > novelty.limit(share)).double().mean()) for share in (0.02, 0.1, 0.3)]
    assert shares == pytest.approx([0.02, 0.1, 0.3], rel=0.4)


def test_without_held_out_samples_there_is_a_novelty_but_no_limit(parts, counted):
    _, _, new, (total, _) = parts
    novelty = Novelty.of(total, counted(new[:0], torch.zeros(0, dtype=torch.int64)), 1e-2, slice(None), product)
    assert novelty(10 * new, new).mean() > novelty(new, new).mean()
    with pytest.raises(InputError, match="At least 10 samples must be held out"):
        novelty.limit(0.05)


def test_features_that_are_all_zero_have_a_finite_novelty(counted):
    nothing = torch.zeros(20, 3, dtype=torch.float64)
    total = counted(nothing, torch.zeros(20, dtype=torch.int64))
    novelty = Novelty.of(total, total, 1e-2, slice(None), product)
    assert torch.isfinite(novelty(nothing, nothing)).all()
