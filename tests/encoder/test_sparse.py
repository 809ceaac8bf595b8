"""The sparse tweak: an optimal lasso solution for each block."""

from itertools import islice

import pytest
import torch
from sklearn.linear_model import Lasso

from if2net.encoder.blocks import Blocks, random_blocks
from if2net.encoder.sparse import SOLVERS, TweakStatistics, kkt_residual, solve, tweak
from if2net.errors import ConfigurationError, NumericalError

SHAPES = [Blocks(10, 10), Blocks(25, 4), Blocks(1, 20), Blocks(5, 1)]
each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_shape = pytest.mark.parametrize("blocks", SHAPES, ids=lambda blocks: f"{blocks.groups}x{blocks.nodes}")


def layer(blocks, samples=200, inputs=8):
    """Return the drifted response D = tanh([V 1]W) of a layer, and its input [V 1]."""
    generator = torch.Generator().manual_seed(0)
    V = torch.randn(samples, inputs, generator=generator, dtype=torch.float64)
    V[:, inputs // 2 :] += V[:, : inputs // 2]  # dependent features, like real ones
    V = torch.cat([V, torch.ones(samples, 1, dtype=torch.float64)], dim=1)
    W = random_blocks(inputs, blocks, distribution="uniform", scale=1.0, generator=generator)
    return torch.tanh(V @ W), V


def statistics(blocks, batches):
    counted = TweakStatistics(blocks, batches[0][1].shape[1])
    for drifted, target in batches:
        counted.add(drifted, target)
    return counted


def lasso(blocks, drifted, target, strength):
    """Return the solution of scikit-learn, blocks × nodes × columns."""
    solutions = []
    for block in drifted.split(blocks.nodes, dim=1):
        model = Lasso(alpha=strength, fit_intercept=False, tol=1e-10, max_iter=100_000)
        coefficients = model.fit(block.numpy(), target.numpy()).coef_
        solutions.append(torch.from_numpy(coefficients.reshape(target.shape[1], -1).T.copy()))
    return torch.stack(solutions)


@each_shape
@each_solver
@pytest.mark.parametrize("strength", [0.001, 0.01, 0.3])
def test_the_tweak_is_optimal_and_equals_the_lasso_of_scikit_learn(blocks, solver, strength):
    drifted, target = layer(blocks)
    counted = statistics(blocks, [(drifted, target)])
    weights = solve(counted.Z, counted.q, strength, solver)
    assert kkt_residual(counted.Z, counted.q, weights, strength).max() <= 1e-4
    torch.testing.assert_close(weights, lasso(blocks, drifted, target, strength), rtol=0, atol=1e-6)


@each_shape
def test_both_solvers_agree(blocks):
    counted = statistics(blocks, [layer(blocks)])
    first, second = (solve(counted.Z, counted.q, 0.01, solver) for solver in SOLVERS)
    torch.testing.assert_close(first, second, rtol=0, atol=1e-8)


@each_solver
def test_the_iteration_converges_without_the_final_linear_system(solver):
    counted = statistics(Blocks(10, 10), [layer(Blocks(10, 10))])
    iterate, _ = next(islice(SOLVERS[solver](counted.Z, counted.q, 0.01), 8000, None))
    assert kkt_residual(counted.Z, counted.q, iterate, 0.01).max() <= 1e-4


@pytest.mark.parametrize("batch", [1, 7, 64, 199, 1000])
def test_batches_of_any_size_give_the_same_statistics(batch):
    blocks = Blocks(25, 4)
    drifted, target = layer(blocks)
    whole = statistics(blocks, [(drifted, target)])
    parts = statistics(blocks, list(zip(drifted.split(batch), target.split(batch), strict=True)))
    assert parts.samples == whole.samples == len(drifted)
    torch.testing.assert_close(parts.Z, whole.Z, rtol=0, atol=1e-12)
    torch.testing.assert_close(parts.q, whole.q, rtol=0, atol=1e-12)
    torch.testing.assert_close(whole.Z[3], drifted[:, 12:16].T @ drifted[:, 12:16] / len(drifted))
    torch.testing.assert_close(whole.q[3], drifted[:, 12:16].T @ target / len(drifted))


def test_a_stronger_penalty_leaves_fewer_weights():
    counted = statistics(Blocks(1, 20), [layer(Blocks(1, 20))])
    nonzero = [int((solve(counted.Z, counted.q, strength) != 0).sum()) for strength in (0.001, 0.1, 1.0, 100.0)]
    assert nonzero == sorted(nonzero, reverse=True)
    assert nonzero[0] > nonzero[1] > nonzero[-1] == 0


def test_the_weights_of_a_node_are_a_column_with_the_bias_last():
    blocks = Blocks(5, 3)
    counted = statistics(blocks, [layer(blocks)])
    weights = tweak(counted, 0.01)
    solution = solve(counted.Z, counted.q, 0.01)
    assert weights.shape == (9, 15)
    assert torch.equal(weights[:, 7], solution[2, 1])
    assert torch.equal(weights[-1], solution[:, :, -1].flatten())


@each_solver
def test_a_block_without_responses_has_zero_weights(solver):
    blocks = Blocks(10, 10)
    drifted, target = layer(blocks)
    drifted[:, 30:40] = 0
    counted = statistics(blocks, [(drifted, target)])
    weights = solve(counted.Z, counted.q, 0.01, solver)
    assert bool((weights[3] == 0).all())
    assert bool((weights[[2, 4]] != 0).any())


def test_identical_nodes_are_solved_to_the_optimum():
    blocks = Blocks(2, 4)
    drifted, target = layer(blocks)
    drifted[:, 1] = drifted[:, 0]
    counted = statistics(blocks, [(drifted, target)])
    weights = solve(counted.Z, counted.q, 0.01)
    assert kkt_residual(counted.Z, counted.q, weights, 0.01).max() <= 1e-4


@pytest.mark.parametrize("strength", [0.0, -0.01])
def test_a_strength_that_is_not_positive_is_refused(strength):
    counted = statistics(Blocks(5, 1), [layer(Blocks(5, 1))])
    with pytest.raises(ConfigurationError, match=rf"strength λ of the tweak must be positive, not {strength}\.$"):
        tweak(counted, strength)


def test_a_solver_that_does_not_converge_raises_an_error_with_advice(monkeypatch):
    monkeypatch.setattr("if2net.encoder.sparse.MOST_ITERATIONS", 3)
    counted = statistics(Blocks(10, 10), [layer(Blocks(10, 10))])
    with pytest.raises(NumericalError, match=r"away from its optimum after 3 iterations; use a larger strength"):
        solve(counted.Z, counted.q, 0.01)
