"""The novelty of samples and its limits, from statistics instead of samples."""

import pytest
import torch
from layers import counted

from if2net.decision.novelty import GAMMA, TAILS, Novelty, RelativeDistance
from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.statistics import one_hot
from if2net.errors import InputError


def product(B):
    return lambda V: V @ B


@pytest.fixture(scope="module")
def parts():
    """Samples of five classes, with heavy tails: to fit, held out and new; and statistics of the first two."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(5, (3000,), generator=generator)
    normal = torch.randn(3000, 40 + TAILS, dtype=torch.float64, generator=generator)
    V = normal[:, :40] * ((TAILS - 2) / normal[:, 40:].square().sum(dim=1, keepdim=True)).sqrt()
    own = one_hot(y, 5, V.dtype)
    V[:, :5] = V[:, :5] * (1 + 2 * own) + 6 * own  # samples stray most from the mean of their own class
    total, held = counted(V[:1000], y[:1000]), counted(V[:200], y[:200])
    total.labels = y[:1000]
    return V[200:1000], V[:200], V[1000:], (total, held)


def distance(V, mean, covariance):
    return ((V - mean) @ torch.linalg.inv(covariance) * (V - mean)).sum(dim=1)


def relative_distance(V, y, new):
    """Return the distance of new samples from samples V of classes y, by its definition."""
    means = torch.stack([V[y == label].mean(dim=0) for label in y.unique()])
    within = (V - means[y]).T @ (V - means[y]) / len(V)
    ridge = within.diagonal().mean() * torch.eye(V.shape[1], dtype=torch.float64)
    around = (V - V.mean(dim=0)).T @ (V - V.mean(dim=0)) / len(V)
    nearest = torch.stack([distance(new, mean, within + ridge) for mean in means]).amin(dim=0)
    return nearest - GAMMA * distance(new, V.mean(dim=0), around + ridge)


def test_novelty_is_the_relative_distance_minus_a_part_of_the_score_of_the_winner(parts):
    fitted, held_out, new, (total, held) = parts
    novelty = Novelty.of(total, held, 1e-2, slice(None), product)
    expected = relative_distance(torch.cat([held_out, fitted]), total.labels, new)
    scores = torch.randn(len(new), 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = expected * novelty.scales[0] - scores.amax(dim=1) * novelty.scales[1]
    torch.testing.assert_close(novelty(new, scores), expected)


def test_the_distance_is_right_where_the_classes_are_very_far_apart():
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(600) % 3
    V = torch.randn(600, 4, dtype=torch.float64, generator=generator)
    V += 1e5 * torch.randn(3, 4, dtype=torch.float64, generator=generator)[y]
    found = RelativeDistance.of(counted(V, y))
    u = (V - found.mean) @ found.root
    values = found.value(u.square().sum(dim=1), u @ found.sides.T, product(found.shrinking))
    torch.testing.assert_close(values, relative_distance(V, y, V), rtol=0, atol=1e-2)


def test_drawn_samples_have_the_distances_of_held_out_ones_far_from_the_origin(parts):
    fitted, held_out, _, (total, _) = parts
    y = total.labels
    far, kept = torch.cat([held_out, fitted]) + 1000, slice(None, 200)
    all_of_them, held = counted(far, y), counted(far[kept], y[kept])
    fitting = all_of_them.without(held)
    found = RelativeDistance.of(fitting)
    drawn, _ = found.draw(held, solve(fitting.G, fitting.Q, absolute_ridge(fitting.G, 1e-2)))
    u = (far[kept] - found.mean) @ found.root
    real = found.value(u.square().sum(dim=1), u @ found.sides.T, product(found.shrinking))
    assert float(drawn.mean()) == pytest.approx(float(real.mean()), abs=0.3 * float(real.std()))


def test_about_the_share_asked_for_of_new_samples_of_known_classes_is_beyond_the_limit(parts):
    _, _, new, (total, held) = parts
    novelty = Novelty.of(total, held, 1e-2, slice(None), product)
    values = novelty(new, new @ solve(total.G, total.Q, absolute_ridge(total.G, 1e-2)))
    shares = [float((values > novelty.limit(share)).double().mean()) for share in (0.1, 0.2, 0.3)]
    assert shares == pytest.approx([0.1, 0.2, 0.3], rel=0.25)


def test_without_held_out_samples_there_is_a_novelty_but_no_limit(parts):
    _, _, new, (total, _) = parts
    novelty = Novelty.of(total, counted(new[:0], torch.zeros(0, dtype=torch.int64)), 1e-2, slice(None), product)
    assert novelty(10 * new, new).mean() > novelty(new, new).mean()
    with pytest.raises(InputError, match="At least 10 samples must be held out"):
        novelty.limit(0.05)


def test_a_score_far_above_those_of_known_samples_counts_no_more(parts):
    _, _, new, (total, held) = parts
    novelty = Novelty.of(total, held, 1e-2, slice(None), product)
    usual, high, higher = (torch.full((len(new), 5), score, dtype=torch.float64) for score in (1.0, 100.0, 1000.0))
    torch.testing.assert_close(novelty(new, higher), novelty(new, high))
    assert (novelty(new, high) < novelty(new, usual)).all()


def test_without_a_positive_definite_matrix_the_distance_alone_tells(parts):
    _, _, new, (total, held) = parts
    novelty = Novelty.of(total, held, -10.0, slice(None), product)
    torch.testing.assert_close(novelty(new, new), novelty(new, 0 * new))
    assert 0.03 < float((novelty(new, new) > novelty.limit(0.1)).double().mean()) < 0.3


def test_features_that_are_all_zero_have_a_finite_novelty():
    nothing = torch.zeros(20, 3, dtype=torch.float64)
    total = counted(nothing, torch.zeros(20, dtype=torch.int64))
    novelty = Novelty.of(total, total, 1e-2, slice(None), product)
    assert torch.isfinite(novelty(nothing, nothing)).all()
