import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from if2net.errors import NumericalError
from if2net.holdout import content_hashes, held_out
from if2net.study.data import load_dataset
from if2net.study.methods import ranpac
from if2net.study.methods.ranpac import BLOCK, HELD_OUT, RIDGES, RanPAC, factors

DIGITS = load_dataset("digits")
X, Y = DIGITS.train_X[:900].astype(np.float32), DIGITS.train_y[:900]
IN_ORDER = np.argsort(Y, kind="stable")


def learned(cuts, width=120):
    method = RanPAC(64, 0, torch.device("cpu"), RanPAC.Settings(width=width))
    for part in np.array_split(IN_ORDER, cuts):
        method.learn(X[part], Y[part])
    return method


def regression(V, labels, ridge):
    return Ridge(alpha=ridge, fit_intercept=False, solver="cholesky").fit(V, np.eye(10)[labels]).coef_.T


@pytest.mark.parametrize("cuts", [[], [300, 600], [150, 160, 400]])
def test_weights_equal_ridge_regression_on_all_data_for_any_split_into_tasks(cuts):
    method = learned(cuts)
    V = method.features(torch.from_numpy(X)).double().numpy()
    expected = regression(V, Y, float(method.state["ridge"]))
    np.testing.assert_allclose(method.solved[0], expected, rtol=1e-5, atol=1e-8)


def test_few_samples_give_the_same_weights(monkeypatch):
    wide = learned([150, 160, 400], width=ranpac.FEW * len(X))
    monkeypatch.setattr(ranpac, "FEW", np.inf)
    weights, _ = wide.classifier()
    assert not torch.equal(wide.solved[0], weights)
    torch.testing.assert_close(wide.solved[0], weights, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("start", [600, 800])  # more samples than the layer is wide, and fewer
def test_the_ridge_has_the_least_error_on_a_fifth_of_the_last_task(start):
    method = learned([300, start])
    last = IN_ORDER[start:]
    held = held_out(content_hashes(torch.from_numpy(X[last])), HELD_OUT).numpy()
    V = method.features(torch.from_numpy(X[last])).double().numpy()
    errors = []
    for ridge in RIDGES:
        beta = regression(V[~held], Y[last][~held], ridge)
        errors.append(np.square(V[held] @ beta - np.eye(10)[Y[last][held]]).sum())
    assert 0.1 < held.mean() < 0.3
    assert ((~held).sum() < 120) == (start == 800)
    assert float(method.state["ridge"]) == RIDGES[int(np.argmin(errors))]


def test_the_weights_are_standard_normal():
    drawn = learned([]).encoder.weights[0][:-1]
    assert abs(float(drawn.mean())) < 0.05
    assert abs(float(drawn.std()) - 1) < 0.05


def test_a_ridge_too_small_for_all_tasks_is_replaced_by_the_next(monkeypatch):
    method = learned([])
    chosen = RIDGES.index(float(method.state["ridge"]))

    def picky(G, Q, alpha, solve=ranpac.solve):
        if alpha <= RIDGES[chosen + 1]:
            raise NumericalError("too small")
        return solve(G, Q, alpha)

    monkeypatch.setattr(ranpac, "solve", picky)
    V = method.features(torch.from_numpy(X)).double().numpy()
    np.testing.assert_allclose(method.classifier()[0], regression(V, Y, RIDGES[chosen + 2]), rtol=1e-5, atol=1e-8)


def statistics(V, outputs=3):
    """G with an upper triangle that must not be read, and Q."""
    Y = torch.randn(len(V), outputs, dtype=V.dtype, generator=torch.Generator().manual_seed(1))
    return torch.tril(V.T @ V) + torch.full((V.shape[1],) * 2, torch.nan).triu(1).nan_to_num(1e9), V.T @ Y


def rows(count, width):
    return torch.relu(torch.randn(count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("samples", [1, 40, BLOCK + 30])
def test_the_factors_give_g_and_q(samples):
    V = rows(samples, 4 * samples)
    G, Q = statistics(V)
    L, C = factors(G, Q, samples)
    assert L.shape == (4 * samples, samples)
    torch.testing.assert_close(L @ L.T, V.T @ V)
    torch.testing.assert_close(L @ C, Q)


def test_samples_that_depend_on_others_need_no_columns():
    V = rows(20, 200)
    V = torch.cat([V, V[:5], V[3:4] + V[7:8], torch.zeros(2, 200, dtype=V.dtype)])
    G, Q = statistics(V)
    L, C = factors(G, Q, len(V))
    assert L.shape[1] == 20
    torch.testing.assert_close(L @ L.T, V.T @ V)
    torch.testing.assert_close(L @ C, Q)
