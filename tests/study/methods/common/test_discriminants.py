import numpy as np
import pytest
import torch
from layers import counted

from if2net.decision.symmetric import BLOCK
from if2net.errors import NumericalError
from if2net.study.methods.common.discriminants import correlation, mahalanobis, shrunk, whitening, within_covariance


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
