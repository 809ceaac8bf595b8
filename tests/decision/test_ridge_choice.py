"""The choice of the ridge on held-out statistics, and the paths of errors that it uses."""

import numpy as np
import pytest
import torch
from layers import counted

from if2net import IF2NetClassifier
from if2net.decision.ridge import absolute_ridge, check_ridge, solve
from if2net.decision.ridge_choice import (
    DEFAULT_RIDGE,
    ENOUGH_HELD_OUT,
    LARGEST_RIDGE,
    NARROW,
    SLACK,
    SMALLEST_RIDGE,
    EigenPath,
    RidgePath,
    choose_ridge,
    ridge_path,
    smallest_ridge,
)
from if2net.decision.statistics import one_hot
from if2net.decision.symmetric import symmetric
from if2net.errors import NumericalError

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def labelled(kind, seed, dtype):
    """Count 100 samples of 60 features to fit and 100 held out: labels are noise, or visible in four features."""
    generator = torch.Generator().manual_seed(seed)
    V = torch.randn(200, 60, generator=generator, dtype=dtype)
    y = torch.randint(0, 4, (200,), generator=generator)
    if kind == "clean":
        V[:, :4] = 3 * one_hot(y, 4, dtype) + 0.01 * V[:, :4]
    return counted(V[:100], y[:100]), counted(V[100:], y[100:])


def held_out_error(fitting, held, alpha):
    """Return ‖V_hβ − Y_h‖²/n_h with β solved for this α alone."""
    beta = solve(fitting.G, fitting.Q, alpha)
    fitted = (beta * (symmetric(held.G) @ beta)).sum() - 2 * (beta * held.Q).sum()
    return float(fitted + held.samples) / held.samples


@pytest.mark.parametrize("held_samples", [0, 1, ENOUGH_HELD_OUT - 1])
def test_too_few_held_out_samples_give_the_default_ridge(task, held_samples):
    V, y = task(60, 8, 4)
    assert choose_ridge(counted(V, y), counted(V[:held_samples], y[:held_samples])) == DEFAULT_RIDGE


def test_no_samples_to_fit_give_the_default_ridge(task):
    V, y = task(60, 8, 4)
    assert choose_ridge(counted(V[:0], y[:0]), counted(V, y)) == DEFAULT_RIDGE


@each_dtype
@pytest.mark.parametrize("seed", range(3))
def test_noise_gets_a_large_ridge_and_clean_data_a_small_one(dtype, seed):
    noise, clean = (choose_ridge(*labelled(kind, seed, dtype)) for kind in ("noise", "clean"))
    assert 1 <= noise <= LARGEST_RIDGE
    assert SMALLEST_RIDGE[dtype] * 0.99 <= clean <= 1e-4


def test_the_chosen_ridge_fits_held_out_samples_nearly_as_well_as_the_best(task):
    V, y = task(120, 40, 4)
    fitting, held = counted(V[:70], y[:70]), counted(V[70:], y[70:])

    def error(ridge):
        return held_out_error(fitting, held, absolute_ridge(fitting.G, ridge))

    assert error(choose_ridge(fitting, held)) <= 1.01 * SLACK * min(error(10.0**decade) for decade in range(-8, 3))


@pytest.mark.parametrize("seed", [0, 3, 120])
def test_rounding_does_not_flip_the_ridge_where_whole_categories_are_held_out(seed):
    """Equal samples are held out together, so no fit tells anything about them, and small ridges fit rounding."""
    random = np.random.default_rng(seed)
    y, means = random.integers(0, 2, 1500), random.normal(size=(2, 40))
    X = np.eye(40)[(means[y] + random.normal(size=(1500, 40))).argmax(axis=1)]
    once = IF2NetClassifier(random_state=0, device="cpu").partial_fit(X, y)
    split = once.fork()
    for part in np.array_split(np.arange(1500), 10):
        split.partial_fit(X[part], y[part])
    assert split.learner_.decision.ridge == pytest.approx(once.learner_.decision.ridge, rel=1e-3)
    np.testing.assert_allclose(split.decision_function(X), once.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("width", [60, 200])
@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_the_order_of_samples_that_every_ridge_fits_does_not_change_the_ridge(width, noise):
    """The errors of all ridges are rounding, and some are negative."""
    generator = torch.Generator().manual_seed(0)
    inner = 30 * torch.randn(1, 3, generator=generator) + noise * torch.randn(400, 3, generator=generator)
    V, y, chosen = inner @ torch.randn(3, width, generator=generator), torch.zeros(400, dtype=torch.int64), []
    for _ in range(5):
        some, others = torch.randperm(300, generator=generator), 300 + torch.randperm(100, generator=generator)
        chosen.append(choose_ridge(counted(V[some], y[some]), counted(V[others], y[others])))
    assert max(chosen) == pytest.approx(min(chosen), rel=1e-3)


def test_less_slack_chooses_a_larger_ridge_and_no_slack_the_best_one(task):
    V, y = task(120, 40, 4)
    fitting, held = counted(V[:70], y[:70]), counted(V[70:], y[70:])
    best, near, wide = (choose_ridge(fitting, held, slack) for slack in (1.0, 1.005, 2.0))
    assert best >= near > wide
    alpha = absolute_ridge(fitting.G, best)
    less, least, more = (held_out_error(fitting, held, alpha * factor) for factor in (10**-0.5, 1, 10**0.5))
    assert least <= 1.001 * min(less, more)


def test_the_search_ends_where_no_ridge_makes_G_positive_definite(task):
    V, y = task(60, 8, 4)
    broken = counted(V, y).thinned(slice(None))
    broken.G[0, 0] = -1000.0
    assert choose_ridge(broken, counted(V, y)) == DEFAULT_RIDGE


@each_dtype
def test_a_dominant_direction_gets_a_ridge_above_the_rounding_of_G(task, dtype):
    V, y = task(2000, 300, 4, rank=20)
    V = (V + 30).to(dtype)  # a large mean: one eigenvalue is far above all others, and most are zero
    fitting, held = counted(V[::2], y[::2]), counted(V[1::2], y[1::2])
    rounding = torch.linalg.eigvalsh(symmetric(fitting.G).double())[-1] * torch.finfo(dtype).eps
    assert absolute_ridge(fitting.G, smallest_ridge(fitting.G)) >= rounding
    ridge = choose_ridge(fitting, held)
    assert ridge >= smallest_ridge(fitting.G) * 0.99
    assert bool(torch.isfinite(solve(fitting.G, fitting.Q, absolute_ridge(fitting.G, ridge))).all())


def test_a_given_ridge_below_the_rounding_of_G_is_refused():
    V = 3000 + torch.randn(400, 50, generator=torch.Generator().manual_seed(0))
    G = V.T @ V
    with pytest.raises(NumericalError, match="too small for these features"):
        check_ridge(G, absolute_ridge(G, 1e-6))
    check_ridge(G, absolute_ridge(G, 1e-3))
    check_ridge(G.double(), absolute_ridge(G, 1e-6))


def test_the_default_ridge_is_raised_above_the_rounding_of_G():
    V = 1e6 + torch.randn(9, 4000, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(9, dtype=torch.int64)
    fitting, held = counted(V, y), counted(V[:1], y[:1])
    assert choose_ridge(fitting, held) == smallest_ridge(fitting.G) > DEFAULT_RIDGE


# ---------------------------------------------------------------------- paths


def path_of(task, dtype, *, width=300):
    V, y = task(400, width, 5)
    V = (V * torch.logspace(0, -2, width)).to(dtype)  # the spectrum falls, as that of real features does
    fitting, held = counted(V[::2], y[::2]), counted(V[1::2], y[1::2])
    centre = absolute_ridge(fitting.G, 1e-3)
    return RidgePath(fitting, held, centre), fitting, held, centre


@each_dtype
@pytest.mark.parametrize("decades", [-1.5, -1.0, 0.0, 1.0, 1.5])
def test_the_error_on_the_path_equals_that_of_a_separate_solve(task, dtype, decades):
    path, fitting, held, centre = path_of(task, dtype)
    alpha = centre * 10**decades
    assert path.error(alpha) == pytest.approx(held_out_error(fitting, held, alpha), rel=2e-3)


def test_the_path_is_exact_at_its_centre(task):
    path, fitting, _, centre = path_of(task, torch.float64)
    beta = torch.einsum("cis,ci->sc", path.K, path.coordinates(centre))
    torch.testing.assert_close(beta, solve(fitting.G, fitting.Q, centre), rtol=1e-8, atol=1e-10)


@each_dtype
def test_the_lanczos_basis_is_orthonormal(task, dtype):
    path, *_ = path_of(task, dtype)
    gram = torch.einsum("cis,cjs->cij", path.K, path.K)
    torch.testing.assert_close(gram, torch.eye(gram.shape[1], dtype=dtype).expand_as(gram), rtol=0, atol=1e-5)


@pytest.mark.parametrize("width", [1, 3])
def test_fewer_features_than_lanczos_steps_give_an_exact_path(task, width):
    path, fitting, held, centre = path_of(task, torch.float64, width=width)
    assert path.error(10 * centre) == pytest.approx(held_out_error(fitting, held, 10 * centre), rel=1e-8)


def test_a_class_that_only_held_out_samples_have_gets_a_score_of_zero(task):
    V, y = task(200, 20, 3)
    only_two = y < 2
    path = RidgePath(counted(V[only_two], y[only_two]), counted(V, y), 1.0)
    assert path.coordinates(3.0)[2].abs().max() == 0
    assert path.error(3.0) > 0


@each_dtype
@pytest.mark.parametrize("decades", [-3.0, 0.0, 3.0])
def test_an_eigendecomposition_gives_the_exact_error_of_any_ridge(task, dtype, decades):
    _, fitting, held, centre = path_of(task, dtype, width=40)
    alpha = centre * 10**decades
    error = EigenPath(fitting, held, centre).error(alpha)
    tolerance = 1e-3 if dtype == torch.float32 else 1e-8
    assert error == pytest.approx(held_out_error(fitting, held, alpha), rel=tolerance)


def test_both_paths_refuse_a_matrix_that_is_not_positive_definite_or_not_finite(task):
    for value in (-5.0, torch.nan, torch.inf):
        _, fitting, held, _ = path_of(task, torch.float32, width=20)
        fitting = fitting.thinned(slice(None))
        fitting.G[3, 3] = value
        for kind in (RidgePath, EigenPath):
            with pytest.raises(NumericalError, match="not positive definite"):
                kind(fitting, held, 1e-3)


@pytest.mark.parametrize(("width", "kind"), [(NARROW, EigenPath), (NARROW + 1, RidgePath)])
def test_the_width_determines_the_kind_of_path(task, width, kind):
    _, fitting, held, centre = path_of(task, torch.float32, width=width)
    assert type(ridge_path(fitting, held, centre)) is kind
