import pytest
import torch

from if2net.decision.ridge import absolute_ridge, factor, solve
from if2net.decision.statistics import one_hot
from if2net.decision.symmetric import BLOCK
from if2net.errors import NumericalError

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def test_solve_is_ridge_regression(task, counted):
    V, y = task(50, BLOCK + 20, 4)
    statistics = counted(V, y)
    system = V.T @ V + 0.3 * torch.eye(V.shape[1], dtype=V.dtype)
    expected = torch.linalg.solve(system, V.T @ one_hot(y, 5, V.dtype))
    torch.testing.assert_close(solve(statistics.G, statistics.Q, 0.3), expected, rtol=1e-8, atol=1e-10)


def test_the_ridge_means_the_same_at_any_scale(task, counted):
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
