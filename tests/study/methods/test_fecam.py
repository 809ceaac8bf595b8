import numpy as np
import pytest
import torch

from if2net.study.data import load_dataset
from if2net.study.methods.fecam import FeCAM

DIGITS = load_dataset("digits")
X, Y = DIGITS.train_X[:900].astype(np.float32), DIGITS.train_y[:900]
TEST = DIGITS.test_X[:60].astype(np.float32)


def distances(V, labels, V_test, gamma1, gamma2):
    """The paper's distances, computed from the samples."""
    columns = []
    for label in np.unique(labels):
        own = V[labels == label]
        covariance = np.cov(own.T)
        beside = ~np.eye(len(covariance), dtype=bool)
        covariance = covariance + np.where(
            beside, gamma2 * covariance[beside].mean(), gamma1 * np.diag(covariance).mean()
        )
        spread = np.sqrt(np.diag(covariance))
        inverse = np.linalg.inv(covariance / spread[:, None] / spread[None])
        mean = own.mean(axis=0)
        away = V_test / np.linalg.norm(V_test, axis=1, keepdims=True) - mean / np.linalg.norm(mean)
        columns.append([row @ inverse @ row for row in away])
    return np.array(columns).T


def learned(data, **settings):
    method = FeCAM(64, 0, torch.device("cpu"), FeCAM.Settings(**settings))
    for part in np.array_split(np.argsort(Y, kind="stable"), [200, 500]):
        method.learn(data[part], Y[part])
    return method


def method_distances(method, data):
    return -method.scores(method.features(torch.from_numpy(data))).numpy()


@pytest.mark.parametrize(("gamma1", "gamma2"), [(1.0, 1.0), (0.5, 0.1)])
def test_nonnegative_inputs_are_transformed_and_not_standardised(gamma1, gamma2):
    method = learned(X, diagonal=gamma1, off_diagonal=gamma2)
    expected = distances(np.sqrt(X.astype(np.float64)), Y, np.sqrt(TEST.astype(np.float64)), gamma1, gamma2)
    np.testing.assert_allclose(method_distances(method, TEST), expected, rtol=1e-6)
    np.testing.assert_array_equal(method.predict(TEST), expected.argmin(axis=1))


def test_signed_inputs_are_standardised_and_not_transformed():
    signed, signed_test = X - 0.3, TEST - 0.3
    method = learned(signed)
    V, V_test = (method.encoder.encode(torch.from_numpy(data), []).double().numpy() for data in (signed, signed_test))
    assert abs(V[np.argsort(Y, kind="stable")[:200]].mean()) < 1e-6  # the mean of the first task is subtracted
    np.testing.assert_allclose(method_distances(method, signed_test), distances(V, Y, V_test, 1.0, 1.0), rtol=1e-6)
