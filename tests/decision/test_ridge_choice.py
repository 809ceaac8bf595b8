import pytest
import torch

from if2net.decision.ridge import absolute_ridge, check_ridge, solve
from if2net.decision.ridge_choice import (
    DEFAULT_RIDGE,
    ENOUGH_HELD_OUT,
    LARGEST_RIDGE,
    SLACK,
    SLACK_OF_SOME,
    SMALLEST_RIDGE,
    choose_ridge,
    smallest_ridge,
)
from if2net.decision.statistics import one_hot
from if2net.decision.symmetric import symmetric
from if2net.errors import NumericalError

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def labelled(counted, kind, seed, dtype):
    """100 samples of 60 features: labels that are pure noise, or written into four of the features."""
    generator = torch.Generator().manual_seed(seed)
    V = torch.randn(200, 60, generator=generator, dtype=dtype)
    y = torch.randint(0, 4, (200,), generator=generator)
    if kind == "clean":
        V[:, :4] = 3 * one_hot(y, 4, dtype) + 0.01 * V[:, :4]
    return counted(V[:100], y[:100]), counted(V[100:], y[100:])


def held_out_error(fitting, held, alpha):
    """‖V_hβ − Y_h‖²/n_h with β solved directly."""
    beta = solve(fitting.G, fitting.Q, alpha)
    fitted = (beta * (symmetric(held.G) @ beta)).sum() - 2 * (beta * held.Q).sum()
    return float(fitted + held.samples) / held.samples


@pytest.mark.parametrize("held_samples", [0, 1, ENOUGH_HELD_OUT - 1])
def test_too_few_held_out_samples_leave_the_default_ridge(counted, task, held_samples):
    V, y = task(60, 8, 4)
    assert choose_ridge(counted(V, y), counted(V[:held_samples], y[:held_samples])) == DEFAULT_RIDGE


def test_nothing_to_fit_leaves_the_default_ridge(counted, task):
    V, y = task(60, 8, 4)
    assert choose_ridge(counted(V[:0], y[:0]), counted(V, y)) == DEFAULT_RIDGE


@each_dtype
@pytest.mark.parametrize("seed", range(3))
def test_noise_asks_for_a_large_ridge_and_clean_data_for_a_small_one(counted, dtype, seed):
    noise, clean = (choose_ridge(*labelled(counted, kind, seed, dtype)) for kind in ("noise", "clean"))
    assert 1 <= noise <= LARGEST_RIDGE
    assert SMALLEST_RIDGE[dtype] * 0.99 <= clean <= 1e-4


def test_the_chosen_ridge_fits_the_held_out_samples_nearly_as_well_as_any_decade(counted, task):
    V, y = task(120, 40, 4)
    fitting, held = counted(V[:70], y[:70]), counted(V[70:], y[70:])

    def error(ridge):
        return held_out_error(fitting, held, absolute_ridge(fitting.G, ridge))

    assert error(choose_ridge(fitting, held)) <= 1.01 * SLACK * min(error(10.0**decade) for decade in range(-8, 3))


def test_less_slack_chooses_a_larger_ridge_and_none_the_best(counted, task):
    V, y = task(120, 40, 4)
    fitting, held = counted(V[:70], y[:70]), counted(V[70:], y[70:])
    best, near, wide = (choose_ridge(fitting, held, slack) for slack in (1.0, SLACK_OF_SOME, 2.0))
    assert best >= near > wide
    alpha = absolute_ridge(fitting.G, best)
    less, least, more = (held_out_error(fitting, held, alpha * factor) for factor in (10**-0.5, 1, 10**0.5))
    assert least <= 1.001 * min(less, more)


def test_a_gram_matrix_that_no_ridge_can_mend_still_ends_the_search(counted, task):
    V, y = task(60, 8, 4)
    broken = counted(V, y)
    broken.G[0, 0] = -1000.0
    assert choose_ridge(broken, counted(V, y)) == DEFAULT_RIDGE


@each_dtype
def test_a_dominant_direction_asks_for_a_ridge_above_the_rounding_of_G(counted, task, dtype):
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


def test_with_nothing_to_choose_by_the_ridge_is_still_above_the_rounding(counted):
    V = 1e6 + torch.randn(9, 4000, generator=torch.Generator().manual_seed(0))
    few = counted(V, torch.zeros(9, dtype=torch.int64))
    assert (
        choose_ridge(few, counted(V[:1], torch.zeros(1, dtype=torch.int64))) == smallest_ridge(few.G) > DEFAULT_RIDGE
    )
