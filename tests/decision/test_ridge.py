import pytest
import torch

from if2net.decision.ridge import (
    DEFAULT_RIDGE,
    ENOUGH_HELD_OUT,
    LARGEST_RIDGE,
    SMALLEST_RIDGE,
    absolute_ridge,
    choose_ridge,
    factor,
    held_out_error,
    solve,
)
from if2net.decision.statistics import BLOCK, Statistics, one_hot
from if2net.errors import NumericalError

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def counted(V, y, classes=4):
    statistics = Statistics(V.shape[1], V.dtype)
    statistics.grow(classes)
    statistics.add(V, y)
    return statistics


def labelled(kind, seed, dtype):
    """100 samples of 60 features: labels that are pure noise, or written into four of the features."""
    generator = torch.Generator().manual_seed(seed)
    V = torch.randn(200, 60, generator=generator, dtype=dtype)
    y = torch.randint(0, 4, (200,), generator=generator)
    if kind == "clean":
        V[:, :4] = 3 * one_hot(y, 4, dtype) + 0.01 * V[:, :4]
    return counted(V[:100], y[:100]), counted(V[100:], y[100:])


def test_solve_is_ridge_regression(task):
    V, y = task(50, BLOCK + 20, 4)
    statistics = counted(V, y)
    system = V.T @ V + 0.3 * torch.eye(V.shape[1], dtype=V.dtype)
    expected = torch.linalg.solve(system, V.T @ one_hot(y, 4, V.dtype))
    torch.testing.assert_close(solve(statistics.G, statistics.Q, 0.3), expected, rtol=1e-8, atol=1e-10)


def test_the_ridge_means_the_same_at_any_scale(task):
    V, y = task(50, 8, 4)
    scores = []
    for scale in (1.0, 1000.0):
        statistics = counted(scale * V, y)
        beta = solve(statistics.G, statistics.Q, absolute_ridge(statistics.G, 0.1))
        scores.append(scale * V @ beta)
    torch.testing.assert_close(scores[0], scores[1])


def test_where_nothing_is_learned_the_ridge_is_taken_as_it_is():
    assert absolute_ridge(torch.zeros(3, 3), 0.5) == 0.5


@each_dtype
@pytest.mark.parametrize("width", [12, BLOCK + 20])
def test_held_out_error_needs_no_samples(task, dtype, width):
    V, y = task(40, width, 4)
    beta = torch.randn(width, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64) / width
    direct = float((V @ beta - one_hot(y, 4, V.dtype)).square().sum() / len(V))
    found = held_out_error(beta.to(dtype), counted(V.to(dtype), y))
    assert found == pytest.approx(direct, rel=1e-10 if dtype == torch.float64 else 1e-4)


@pytest.mark.parametrize("held_samples", [0, 1, ENOUGH_HELD_OUT - 1])
def test_too_few_held_out_samples_leave_the_default_ridge(task, held_samples):
    V, y = task(60, 8, 4)
    assert choose_ridge(counted(V, y), counted(V[:held_samples], y[:held_samples])) == DEFAULT_RIDGE


def test_nothing_to_fit_leaves_the_default_ridge(task):
    V, y = task(60, 8, 4)
    assert choose_ridge(counted(V[:0], y[:0]), counted(V, y)) == DEFAULT_RIDGE


@each_dtype
@pytest.mark.parametrize("seed", range(3))
def test_noise_asks_for_a_large_ridge_and_clean_data_for_a_small_one(dtype, seed):
    noise, clean = (choose_ridge(*labelled(kind, seed, dtype)) for kind in ("noise", "clean"))
    assert 1 <= noise <= LARGEST_RIDGE
    assert SMALLEST_RIDGE[dtype] * 0.99 <= clean <= 1e-4


def test_the_chosen_ridge_fits_the_held_out_samples_nearly_as_well_as_any_decade(task):
    V, y = task(120, 40, 4)
    fitting, held = counted(V[:70], y[:70]), counted(V[70:], y[70:])

    def error(ridge):
        return held_out_error(solve(fitting.G, fitting.Q, absolute_ridge(fitting.G, ridge)), held)

    assert error(choose_ridge(fitting, held)) <= 1.05 * min(error(10.0**decade) for decade in range(-8, 3))


def test_a_gram_matrix_that_no_ridge_can_mend_still_ends_the_search(task):
    V, y = task(60, 8, 4)
    broken = counted(V, y)
    broken.G[0, 0] = -1000.0
    assert choose_ridge(broken, counted(V, y)) == DEFAULT_RIDGE


@each_dtype
def test_a_matrix_that_is_not_positive_definite_is_refused_with_advice(dtype):
    G = torch.diag(torch.tensor([1.0, -2.0, 1.0], dtype=dtype))
    with pytest.raises(NumericalError, match=r"not positive definite at α = 0.1.*larger ridge.*dtype='float64'\.$"):
        factor(G, 0.1)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_matrix_that_is_not_finite_is_refused(value):
    G = torch.eye(3)
    G[1, 1] = value
    with pytest.raises(NumericalError, match="larger ridge"):
        factor(G, 0.1)


def test_float64_is_used_where_float32_is_not_precise_enough():
    G = torch.ones(200, 200) * 1e4  # rank one; α is under the rounding of float32
    assert torch.linalg.cholesky_ex(G + 1e-4 * torch.eye(200))[1].item() > 0
    lower = factor(G, 1e-4)
    assert lower.dtype == torch.float64
    assert solve(G, torch.ones(200, 1), 1e-4).dtype == torch.float32
