import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from if2net.errors import ConfigurationError, NumericalError
from if2net.study.data import load_dataset
from if2net.study.methods.acil import ACIL

DIGITS = load_dataset("digits")
X, Y = DIGITS.train_X[:900].astype(np.float32), DIGITS.train_y[:900]


def learned(cuts, **settings):
    method = ACIL(64, 0, torch.device("cpu"), ACIL.Settings(width=120, **settings))
    for part in np.array_split(np.argsort(Y, kind="stable"), cuts):
        method.learn(X[part], Y[part])
    return method


@pytest.mark.parametrize("gamma", [0.1, 10.0])
@pytest.mark.parametrize("cuts", [[], [300, 600], [7, 8, 400]])
def test_weights_equal_ridge_regression_on_all_data_for_any_split_into_tasks(cuts, gamma):
    method = learned(cuts, gamma=gamma)
    V = method.features(torch.from_numpy(X)).double().numpy()
    expected = Ridge(alpha=gamma, fit_intercept=False, solver="cholesky").fit(V, np.eye(10)[Y])
    np.testing.assert_allclose(method.solved[0], expected.coef_.T, rtol=1e-6, atol=1e-8)


def test_buffer_weights_are_uniform_within_one_over_the_root_of_the_number_of_inputs():
    drawn = learned([]).encoder.weights[0][:-1]
    assert float(drawn.abs().max()) <= 1 / 8
    assert abs(float(drawn.std()) - 1 / 8 / 3**0.5) < 0.002


def test_loss_of_precision_raises_an_error_that_names_gamma():
    with pytest.raises(NumericalError, match="larger gamma"):
        learned([300, 600], gamma=1e-17)


def test_gamma_must_be_positive():
    with pytest.raises(ConfigurationError, match="gamma"):
        ACIL.Settings(gamma=0.0)
