"""Solving ridge regression: accuracy, precision and errors."""

import re

import pytest
import torch
from layers import counted

from if2net.decision import ridge
from if2net.decision.ridge import absolute_ridge, apply_inverse, check_ridge, factor, rounding, solve
from if2net.decision.statistics import one_hot
from if2net.decision.symmetric import BLOCK, cholesky
from if2net.errors import NumericalError

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def test_solve_is_ridge_regression(task):
    V, y = task(50, BLOCK + 20, 4)
    statistics = counted(V, y)
    system = V.T @ V + 0.3 * torch.eye(V.shape[1], dtype=V.dtype)
    expected = torch.linalg.solve(system, V.T @ one_hot(y, 5, V.dtype))
    torch.testing.assert_close(solve(statistics.G, statistics.Q, 0.3), expected, rtol=1e-8, atol=1e-10)


def test_the_ridge_means_the_same_at_any_scale(task):
    V, y = task(50, 8, 4)
    scores = []
    for scale in (1.0, 1000.0):
        statistics = counted(scale * V, y)
        beta = solve(statistics.G, statistics.Q, absolute_ridge(statistics.G, 0.1))
        scores.append(scale * V @ beta)
    torch.testing.assert_close(scores[0], scores[1])


def test_without_data_the_ridge_is_absolute():
    assert absolute_ridge(torch.zeros(3, 3), 0.5) == 0.5


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


@pytest.mark.parametrize("share", [0.999, 0.5, 1e-4])
def test_the_error_for_a_small_ridge_names_one_that_is_large_enough(share):
    G = torch.eye(100)
    alpha = share * rounding(G, G.dtype)
    with pytest.raises(NumericalError) as caught:
        check_ridge(G, alpha)
    factor = int(re.search(r"Give a ridge ([\d,]+) times as large", str(caught.value))[1].replace(",", ""))
    assert factor > 1
    check_ridge(G, factor * alpha)


def test_float64_is_used_where_float32_is_not_precise_enough():
    G = torch.ones(200, 200) * 1e4  # rank one; α is below the rounding of float32
    assert torch.linalg.cholesky_ex(G + 1e-4 * torch.eye(200))[1].item() > 0
    lower = factor(G, 1e-4)
    assert lower.dtype == torch.float64
    assert solve(G, torch.ones(200, 1), 1e-4).dtype == torch.float32


def ill_conditioned(dtype, width=300, condition=1e10):
    """Return statistics in this precision, G and Q of the same samples in float64, and new samples."""
    generator = torch.Generator().manual_seed(0)
    values = torch.logspace(0, -torch.tensor(condition).log10().item(), width, dtype=torch.float64)
    V = torch.randn(3000, width, generator=generator, dtype=torch.float64) * values
    V = (V @ torch.linalg.qr(torch.randn(width, width, generator=generator, dtype=torch.float64)).Q).float().double()
    y = (V @ torch.randn(width, 5, generator=generator, dtype=torch.float64)).argmax(dim=1)
    learned = V[:2000]
    return (
        counted(learned.to(dtype), y[:2000]),
        learned.T @ learned,
        learned.T @ one_hot(y[:2000], 5, V.dtype),
        V[2000:],
    )


def direct(G, Q, alpha):
    return torch.linalg.solve(G + alpha * torch.eye(len(G), dtype=G.dtype), Q)


def error(beta, exact):
    return float((beta.double() - exact).norm() / exact.norm())


@pytest.fixture
def factors(monkeypatch):
    """The precisions of all factorisations. Every width counts as wide."""
    monkeypatch.setattr(ridge, "FLOAT32_FACTOR_WIDTH", 1)
    precisions = []

    def recording(G, alpha, dtype):
        precisions.append(dtype)
        return cholesky(G, alpha, dtype)

    monkeypatch.setattr(ridge, "cholesky", recording)
    return precisions


def test_a_corrected_float32_factor_is_nearly_as_accurate_as_a_float64_factor(factors):
    statistics, *_ = ill_conditioned(torch.float32)
    alpha = absolute_ridge(statistics.G, 1e-3)
    exact = apply_inverse(factor(statistics.G, alpha, torch.float64), statistics.Q)
    factors.clear()
    assert error(solve(statistics.G, statistics.Q, alpha), exact) < 1e-5
    assert factors == [torch.float32]
    assert error(apply_inverse(factor(statistics.G, alpha), statistics.Q), exact) > 1e-4


@pytest.mark.parametrize("roundings", [1.0, 4.0, 100.0])
def test_ill_conditioned_features_in_float32_are_predicted_as_in_float64(roundings):
    statistics, G, Q, new = ill_conditioned(torch.float32)
    alpha = roundings * rounding(statistics.G, torch.float32)
    scores, exact = new @ solve(statistics.G, statistics.Q, alpha).double(), new @ direct(G, Q, alpha)
    assert error(scores, exact) < 1e-3
    assert float((scores.argmax(dim=1) == exact.argmax(dim=1)).double().mean()) >= 0.999


@pytest.mark.parametrize("roundings", [4.0, 100.0, 1e5])
def test_a_float32_factor_solves_float64_statistics_accurately(factors, roundings):
    statistics, G, Q, _ = ill_conditioned(torch.float64)
    alpha = roundings * rounding(statistics.G, torch.float32)
    assert error(solve(statistics.G, statistics.Q, alpha), direct(G, Q, alpha)) < 1e-9
    assert factors == [torch.float32]


def test_a_ridge_near_the_rounding_of_float32_gets_a_float64_factor(factors):
    statistics, G, Q, _ = ill_conditioned(torch.float64)
    alpha = 3.9 * rounding(statistics.G, torch.float32)
    assert error(solve(statistics.G, statistics.Q, alpha), direct(G, Q, alpha)) < 1e-9
    assert factors == [torch.float64]


def test_a_narrow_layer_in_float64_is_factorised_in_float64(factors, monkeypatch):
    monkeypatch.setattr(ridge, "FLOAT32_FACTOR_WIDTH", 301)
    statistics, G, Q, _ = ill_conditioned(torch.float64)
    alpha = absolute_ridge(G, 1e-2)
    assert error(solve(statistics.G, statistics.Q, alpha), direct(G, Q, alpha)) < 1e-9
    assert factors == [torch.float64]


@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_numbers_beyond_the_range_of_float32_are_solved_in_float64(factors, scale):
    statistics, G, Q, _ = ill_conditioned(torch.float64)
    alpha = absolute_ridge(G, 1e-2)
    beta = solve(scale**2 * statistics.G, scale * statistics.Q, scale**2 * alpha)
    assert error(scale * beta, direct(G, Q, alpha)) < 1e-9


def test_corrections_that_do_not_converge_are_replaced_by_a_float64_factor(monkeypatch):
    monkeypatch.setattr(ridge, "FLOAT32_FACTOR_WIDTH", 1)
    statistics, G, Q, _ = ill_conditioned(torch.float64)
    alpha = absolute_ridge(G, 1e-2)
    precisions = []

    def poor_in_float32(G, alpha, dtype):
        precisions.append(dtype)
        return cholesky(1.5 * G if dtype == torch.float32 else G, alpha, dtype)

    monkeypatch.setattr(ridge, "cholesky", poor_in_float32)
    assert error(solve(statistics.G, statistics.Q, alpha), direct(G, Q, alpha)) < 1e-9
    assert precisions == [torch.float32, torch.float64]


@each_dtype
def test_correcting_columns_in_groups_gives_the_same_result(factors, monkeypatch, dtype):
    statistics, G, *_ = ill_conditioned(dtype)
    alpha = absolute_ridge(G, 1e-2)
    whole = solve(statistics.G, statistics.Q, alpha)
    monkeypatch.setattr(ridge, "COLUMNS", 2)
    assert error(solve(statistics.G, statistics.Q, alpha), whole.double()) < (
        1e-6 if dtype == torch.float32 else 1e-9
    )


@each_dtype
def test_without_classes_beta_has_no_columns(dtype):
    assert solve(torch.eye(3, dtype=dtype), torch.zeros(3, 0, dtype=dtype), 0.1).shape == (3, 0)


@each_dtype
def test_a_class_without_samples_has_a_column_of_zeros(dtype):
    Q = torch.tensor([[1.0, 0.0], [2.0, 0.0]], dtype=dtype)
    torch.testing.assert_close(solve(torch.eye(2, dtype=dtype), Q, 1.0), Q / 2)
