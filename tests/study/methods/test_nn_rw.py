"""NN-RW: the equations of the Broad Learning System, and its forgetting."""

import numpy as np
import pytest
import torch

from if2net.encoder.sparse import kkt_residual
from if2net.study.methods.nn_rw import BroadLearning, BroadLearningSettings

SMALL = BroadLearningSettings(windows=3, nodes=4, enhancement=20)
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 10)).astype(np.float32)
Y = (X[:, 0] > X[:, 1]).astype(np.int64)


def learned(settings=SMALL, X=X, y=Y):
    method = BroadLearning(10, 0, torch.device("cpu"), settings)
    method.learn(X, y)
    return method


def test_the_read_out_is_ridge_regression_onto_one_hot_labels():
    method = learned(BroadLearningSettings(windows=3, nodes=4, enhancement=20, ridge=0.5))
    A = method._respond(method._scaled(X))
    wanted = torch.linalg.solve(A.T @ A + 0.5 * torch.eye(32), A.T @ torch.eye(2, dtype=A.dtype)[Y])
    torch.testing.assert_close(method.state["beta"], wanted)


def test_the_sparse_features_minimise_the_original_objective():
    """‖AV − X‖² + λ‖V‖₁ has its minimum where 2AᵀAV − 2AᵀX is λ times a subgradient of the norm."""
    strength = 5.0
    method = learned(BroadLearningSettings(windows=1, nodes=4, enhancement=20, strength=strength))
    samples = method._scaled(X)
    random = samples @ torch.randn(11, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    A = (random - random.amin(dim=0)) / (random.amax(dim=0) - random.amin(dim=0))
    V = method.state["features"].T
    assert (V == 0).any()
    assert float(kkt_residual(2 * (A.T @ A)[None], 2 * (A.T @ samples)[None], V[None], strength).max()) < 1e-2


def test_features_of_the_training_data_fill_the_unit_interval():
    method = learned()
    Z = method._features(method._scaled(X))
    torch.testing.assert_close(Z.amin(dim=0), torch.zeros(12, dtype=Z.dtype))
    torch.testing.assert_close(Z.amax(dim=0), torch.ones(12, dtype=Z.dtype))


@pytest.mark.parametrize("enhancement", [5, 40])
def test_enhancement_weights_are_orthogonal_and_their_largest_response_is_the_shrinkage(enhancement):
    method = learned(BroadLearningSettings(windows=3, nodes=4, enhancement=enhancement))
    weights = method.state["enhancement"]
    gram = weights @ weights.T if len(weights) < enhancement else weights.T @ weights
    torch.testing.assert_close(gram, gram[0, 0] * torch.eye(len(gram), dtype=gram.dtype))
    H = method._respond(method._scaled(X))[:, 12:]
    assert float(H.max()) == pytest.approx(np.tanh(0.8))


def test_a_task_overwrites_the_whole_state_except_the_number_of_classes():
    method = learned()
    before = {name: tensor.clone() for name, tensor in method.state.items()}
    method.learn(X, Y + 2)
    assert not any(torch.equal(method.state[name], tensor) for name, tensor in before.items())
    assert method.state["beta"].shape[1] == 4
    assert not method.state["beta"][:, :2].any()


def test_constant_samples_and_features_are_accepted():
    constant = np.ones((6, 10), dtype=np.float32)
    method = learned(X=constant, y=np.array([0, 1, 0, 1, 0, 1]))
    assert torch.isfinite(method.state["beta"]).all()
    assert set(method.predict(constant)) <= {0, 1}
