import pytest
import torch

from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.ridge_choice import NARROW, EigenPath, RidgePath, ridge_path
from if2net.decision.symmetric import symmetric
from if2net.errors import NumericalError

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def path_of(counted, task, dtype, *, samples=400, width=300, centre=1e-3):
    V, y = task(samples, width, 5)
    V = (V * torch.logspace(0, -2, width)).to(dtype)  # a spectrum that falls, as features have
    fitting, held = counted(V[::2], y[::2]), counted(V[1::2], y[1::2])
    alpha = absolute_ridge(fitting.G, centre)
    return RidgePath(fitting, held, alpha), fitting, held, alpha


@each_dtype
@pytest.mark.parametrize("decades", [-1.5, -1.0, 0.0, 1.0, 1.5])
def test_the_error_on_the_path_is_that_of_a_solve_of_its_own(counted, task, dtype, decades):
    path, fitting, held, centre = path_of(counted, task, dtype)
    alpha = centre * 10**decades
    beta = solve(fitting.G, fitting.Q, alpha)
    direct = (beta * (symmetric(held.G) @ beta)).sum() - 2 * (beta * held.Q).sum() + held.samples
    assert path.error(alpha) == pytest.approx(float(direct) / held.samples, rel=2e-3)


def test_at_the_centre_the_path_is_exact(counted, task):
    path, fitting, _, centre = path_of(counted, task, torch.float64)
    beta = torch.einsum("cis,ci->sc", path.K, path.coordinates(centre))
    torch.testing.assert_close(beta, solve(fitting.G, fitting.Q, centre), rtol=1e-8, atol=1e-10)


@each_dtype
def test_the_basis_is_orthonormal(counted, task, dtype):
    path, *_ = path_of(counted, task, dtype)
    gram = torch.einsum("cis,cjs->cij", path.K, path.K)
    torch.testing.assert_close(gram, torch.eye(gram.shape[1], dtype=dtype).expand_as(gram), rtol=0, atol=1e-5)


@pytest.mark.parametrize("width", [1, 3])
def test_fewer_features_than_steps_are_enough(counted, task, width):
    path, fitting, held, centre = path_of(counted, task, torch.float64, width=width)
    beta = solve(fitting.G, fitting.Q, 10 * centre)
    direct = (beta * (symmetric(held.G) @ beta)).sum() - 2 * (beta * held.Q).sum() + held.samples
    assert path.error(10 * centre) == pytest.approx(float(direct) / held.samples, rel=1e-8)


def test_a_class_that_only_the_held_out_samples_have_is_scored_zero(counted, task):
    V, y = task(200, 20, 3)
    only_two = y < 2
    path = RidgePath(counted(V[only_two], y[only_two]), counted(V, y), 1.0)
    assert path.coordinates(3.0)[2].abs().max() == 0
    assert path.error(3.0) > 0


@each_dtype
@pytest.mark.parametrize("decades", [-3.0, 0.0, 3.0])
def test_an_eigendecomposition_gives_the_error_of_any_ridge(counted, task, dtype, decades):
    _, fitting, held, centre = path_of(counted, task, dtype, width=40)
    alpha = centre * 10**decades
    beta = solve(fitting.G, fitting.Q, alpha)
    direct = (beta * (symmetric(held.G) @ beta)).sum() - 2 * (beta * held.Q).sum() + held.samples
    found = EigenPath(fitting, held, centre).error(alpha)
    assert found == pytest.approx(float(direct) / held.samples, rel=1e-3 if dtype == torch.float32 else 1e-8)


def test_what_is_not_positive_definite_or_not_finite_is_refused_either_way(counted, task):
    for value in (-5.0, torch.nan, torch.inf):
        _, fitting, held, _ = path_of(counted, task, torch.float32, width=20)
        fitting.G[3, 3] = value
        for way in (RidgePath, EigenPath):
            with pytest.raises(NumericalError, match="not positive definite"):
                way(fitting, held, 1e-3)


@pytest.mark.parametrize(("width", "way"), [(NARROW, EigenPath), (NARROW + 1, RidgePath)])
def test_the_width_decides_which_way_is_taken(counted, task, width, way):
    _, fitting, held, centre = path_of(counted, task, torch.float32, width=width)
    assert type(ridge_path(fitting, held, centre)) is way
