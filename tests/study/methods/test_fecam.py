import numpy as np
import pytest
import torch
from layers import counted

from if2net.decision.symmetric import BLOCK
from if2net.errors import NumericalError
from if2net.study.data import load_dataset
from if2net.study.methods.common.moments import within_covariance
from if2net.study.methods.fecam import FeCAM, correlation, mahalanobis, shrunk, whitening

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


def draw(samples, width, classes):
    """Samples around class centres, with correlated features, in float64."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, classes, (samples,), generator=generator)
    centres, noise, mixing = (
        torch.randn(rows, width, generator=generator, dtype=torch.float64) for rows in (classes, samples, width)
    )
    return (centres[y] + noise) @ mixing / width**0.5, y


@pytest.mark.parametrize("width", [5, BLOCK + 20])  # one block row of G, and two
def test_the_within_covariance_is_centred_on_the_class_means(width):
    V, y = draw(60, width, 3)
    centred = V - torch.stack([V[y == label].mean(dim=0) for label in range(3)])[y]
    torch.testing.assert_close(within_covariance(counted(V, y, 4)), centred.T @ centred / 60)


def test_a_shrunk_covariance_with_constant_features_is_positive_definite():
    V, y = draw(30, 6, 1)
    V = torch.cat([V[:, :1].expand(-1, 3) + 0.01 * V[:, :3], torch.zeros(30, 9, dtype=V.dtype)], dim=1)
    covariance = within_covariance(counted(V, y, 1))
    assert float(torch.linalg.eigvalsh(shrunk(covariance, 1.0, 1.0))[0]) > 0


def test_the_distance_equals_the_mahalanobis_distance():
    V, y = draw(40, 6, 1)
    covariance = within_covariance(counted(V, y, 1))
    away = (V - V[0]).numpy()
    expected = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance.numpy()), away)
    np.testing.assert_allclose(mahalanobis(V, V[0], whitening(covariance)), expected, rtol=1e-9, atol=1e-9)


def test_a_covariance_without_an_inverse_is_refused():
    with pytest.raises(NumericalError, match="set a larger `diagonal`"):
        whitening(torch.zeros(2, 2))


def test_a_class_with_one_sample_has_the_euclidean_distance():
    V, y = draw(1, 4, 1)
    covariance = shrunk(within_covariance(counted(V, y, 1)), 1.0, 1.0)
    torch.testing.assert_close(whitening(correlation(covariance)), torch.eye(4, dtype=V.dtype))
