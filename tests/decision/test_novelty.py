"""The novelty of samples and its limits, from statistics instead of samples."""

import pytest
import torch
from layers import counted

from if2net.decision.novelty import BEYOND, OVERLAP, RIDGE, TAILS, WHOLE, Discriminants, Novelty, WholeDistance
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


def solved(statistics, ridge=1e-2):
    return solve(statistics.G, statistics.Q, absolute_ridge(statistics.G, ridge))


def discriminants_of(statistics, ridge=1e-2):
    return Discriminants.of(solved(statistics, ridge), statistics.Q / statistics.weights, statistics.weights)


def novelty_of(total, held, ridge=1e-2):
    return Novelty.of(discriminants_of(total, ridge), total, held, ridge, slice(None), product)


def distance(V, mean, covariance):
    return ((V - mean) @ torch.linalg.inv(covariance) * (V - mean)).sum(dim=1)


def covariances(V, y):
    """Return the class means, the covariance around them, and the one around the mean of all samples."""
    means = torch.stack([V[y == label].mean(dim=0) for label in range(5)])
    within, around = V - means[y], V - V.mean(dim=0)
    return means, within.T @ within / len(V), around.T @ around / len(V)


def test_the_scores_have_the_relative_distance_and_the_projection_on_the_class_means(parts):
    fitted, held_out, new, (total, _) = parts
    V = torch.cat([held_out, fitted])
    means, within, around = covariances(V, total.labels)
    ridge = absolute_ridge(total.G, 1e-2) / len(V) * torch.eye(40, dtype=torch.float64)
    nearest = torch.stack([distance(new, mean, within + ridge) for mean in means]).amin(dim=0)
    inverse, centre = torch.linalg.inv(within + ridge), V.mean(dim=0)
    lengths = distance(means, centre, within + ridge).sqrt()
    found = discriminants_of(total)
    z = new @ solved(total) @ found.slopes + found.offsets
    relative = nearest - distance(new, centre, around + ridge)
    torch.testing.assert_close(found.relative(z, product(found.shrunk)), relative)
    projection = ((new - centre) @ inverse @ (means - centre).T / lengths).amax(dim=1)
    torch.testing.assert_close(found.projection(z), projection)


def test_novelty_is_the_weighted_sum_of_its_parts(parts):
    fitted, held_out, new, (total, held) = parts
    far = torch.cat([new[:100], 5 * new[100:200]])
    V, scores = torch.cat([held_out, fitted]), far @ solved(total)
    _, within, _ = covariances(V, total.labels)
    ridge = RIDGE * within.diagonal().mean() * torch.eye(40, dtype=torch.float64)
    whole = distance(far, V.mean(dim=0), within + ridge)
    novelty, found = novelty_of(total, held), discriminants_of(total)
    z, weights = scores @ found.slopes + found.offsets, novelty.weights
    assert 0 < float((whole > weights.limit).double().mean()) < 1
    expected = (
        weights.relative * found.relative(z, product(found.shrunk))
        + weights.whole * (whole + BEYOND / WHOLE * (whole - weights.limit).clamp(min=0))
        - weights.winner * scores.amax(dim=1)
        - weights.projection * found.projection(z)
    )
    torch.testing.assert_close(novelty(far, scores), expected)


def test_the_projection_weighs_more_where_classes_overlap(parts):
    _, _, new, (total, held) = parts
    weights = {ridge: novelty_of(total, held, ridge).weights for ridge in (1e-2, 3.0)}
    mean = float((held.Q * solved(total.without(held))).sum() / held.weight)
    scores = new @ solved(total)
    found = discriminants_of(total)
    spread = float(found.projection(scores @ found.slopes + found.offsets).std())
    expected = OVERLAP * ((1 - mean) / mean) ** 2 / spread
    assert weights[1e-2].projection == pytest.approx(expected, rel=0.3)
    # A larger ridge makes the scores smaller, as overlapping classes do.
    assert weights[3.0].projection / weights[3.0].winner > 2 * weights[1e-2].projection / weights[1e-2].winner


def test_drawn_samples_have_the_distances_of_held_out_ones_far_from_the_origin(parts):
    fitted, held_out, _, (total, _) = parts
    y = total.labels
    far, kept = torch.cat([held_out, fitted]) + 1000, slice(None, 200)
    all_of_them, held = counted(far, y), counted(far[kept], y[kept])
    found = WholeDistance.of(all_of_them.without(held))
    drawn = found.draw(held, y[kept], torch.ones(200, dtype=torch.float64))
    real = (far[kept] @ found.root - found.centre).square().sum(dim=1)
    assert float(drawn.mean()) == pytest.approx(float(real.mean()), abs=0.3 * float(real.std()))


@pytest.mark.parametrize("ridge", [1e-12, 1e-2])
def test_a_single_class_has_a_novelty(parts, ridge):
    fitted, _, new, _ = parts
    total = counted(fitted, torch.zeros(len(fitted), dtype=torch.int64))
    held = counted(fitted[:100], torch.zeros(100, dtype=torch.int64))
    novelty = novelty_of(total, held, ridge)
    values = [novelty(V, V @ solved(total, ridge)) for V in (new, 10 * new)]
    assert all(torch.isfinite(part).all() for part in values)
    assert values[1].median() > novelty.limit(0.05)


def test_about_the_share_asked_for_of_new_samples_of_known_classes_is_beyond_the_limit(parts):
    _, _, new, (total, held) = parts
    novelty = novelty_of(total, held)
    values = novelty(new, new @ solved(total))
    shares = [float((values > novelty.limit(share)).double().mean()) for share in (0.1, 0.2, 0.3)]
    assert shares == pytest.approx([0.1, 0.2, 0.3], rel=0.25)


def test_without_held_out_samples_there_is_a_novelty_but_no_limit(parts):
    _, _, new, (total, _) = parts
    novelty = novelty_of(total, counted(new[:0], torch.zeros(0, dtype=torch.int64)))
    scores = new @ solved(total)
    assert novelty(10 * new, scores).mean() > novelty(new, scores).mean()
    with pytest.raises(InputError, match="At least 10 samples must be held out"):
        novelty.limit(0.05)


def test_features_that_are_all_zero_have_a_finite_novelty():
    nothing = torch.zeros(20, 3, dtype=torch.float64)
    total = counted(nothing, torch.zeros(20, dtype=torch.int64))
    novelty = novelty_of(total, total)
    assert torch.isfinite(novelty(nothing, torch.zeros(20, 5, dtype=torch.float64))).all()
