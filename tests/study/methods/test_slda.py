import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator
from sklearn.covariance import empirical_covariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from if2net.errors import ConfigurationError
from if2net.study.data import load_dataset
from if2net.study.methods.slda import StreamingLDA

DIGITS = load_dataset("digits")
X, Y = DIGITS.train_X[:900], DIGITS.train_y[:900]


class Shrunk(BaseEstimator):
    """(1 − ε)Σ + εI. The shrinkage of scikit-learn is towards the mean variance instead."""

    def __init__(self, shrinkage):
        self.shrinkage = shrinkage

    def fit(self, V):
        self.covariance_ = (1 - self.shrinkage) * empirical_covariance(V) + self.shrinkage * np.eye(V.shape[1])
        return self


@pytest.mark.parametrize("shrinkage", [1e-4, 0.3])
@pytest.mark.parametrize("cuts", [[], [300, 600], [7, 8, 400]])
def test_weights_equal_linear_discriminant_analysis_for_any_split_into_tasks(cuts, shrinkage):
    method = StreamingLDA(64, 0, torch.device("cpu"), StreamingLDA.Settings(shrinkage=shrinkage))
    for part in np.array_split(np.argsort(Y, kind="stable"), cuts):
        method.learn(X[part], Y[part])
    V = method.features(torch.from_numpy(X).float()).double().numpy()
    expected = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Shrunk(shrinkage)).fit(V, Y)
    weights, offsets = method.solved
    np.testing.assert_allclose(weights.T, expected.coef_, rtol=1e-6, atol=1e-7)
    # The priors of scikit-learn are the class frequencies; ours are equal.
    np.testing.assert_allclose(offsets, expected.intercept_ - np.log(expected.priors_), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("shrinkage", [0.0, 1.1])
def test_a_shrinkage_out_of_range_is_refused(shrinkage):
    with pytest.raises(ConfigurationError, match="shrinkage"):
        StreamingLDA.Settings(shrinkage=shrinkage)
