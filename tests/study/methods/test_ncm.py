import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestCentroid

from if2net.study.data import load_dataset
from if2net.study.methods.ncm import NearestClassMean

DIGITS = load_dataset("digits")
X, Y = DIGITS.train_X[:900], DIGITS.train_y[:900]


@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_")  # pixels that are always black
@pytest.mark.parametrize("cuts", [[], [300, 600], [7, 8, 400]])
def test_predictions_equal_the_nearest_centroid_for_any_split_into_tasks(cuts):
    method = NearestClassMean(64, 0, torch.device("cpu"), NearestClassMean.Settings())
    for part in np.array_split(np.argsort(Y, kind="stable"), cuts):
        method.learn(X[part], Y[part])
    V, V_test = (method.features(torch.from_numpy(data).float()).double() for data in (X, DIGITS.test_X))
    expected = NearestCentroid().fit(V.numpy(), Y).predict(V_test.numpy())
    np.testing.assert_array_equal(method.predict(DIGITS.test_X), expected)
