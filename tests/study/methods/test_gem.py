from itertools import product

import pytest
import torch

from if2net.study.methods.common.memory_gradients import MemoryGradientsSettings
from if2net.study.methods.gem import GEM, RIDGE, dual


def vectors(tasks, seed, scale=1.0):
    """A gradient and the gradients of the old tasks, which have a common part, as in training."""
    random = torch.Generator().manual_seed(seed)
    g, common = torch.randn(2, 20, dtype=torch.float64, generator=random)
    G = common + torch.randn(tasks, 20, dtype=torch.float64, generator=random)
    sizes = torch.logspace(0, 1.5, tasks, dtype=torch.float64)[:, None]
    return g - common, scale * sizes * G


def exact(GG, Gg, least):
    """The best solution over all choices of unknowns that lie on their bound."""
    size = len(Gg)
    A = GG + RIDGE * torch.diag(GG.diagonal())
    least_value, best = torch.inf, None
    for free in product([False, True], repeat=size):
        v, free = torch.full((size,), least, dtype=GG.dtype), torch.tensor(free)
        if free.any():
            v[free] = torch.linalg.solve(A[free][:, free], -(Gg + A[:, ~free] @ v[~free])[free])
        value = v @ A @ v / 2 + Gg @ v
        if (v >= least - 1e-12).all() and value < least_value:
            least_value, best = value, v
    return best


def combined(g, G, strength):
    method = GEM(6, 0, torch.device("cpu"), MemoryGradientsSettings(strength=strength))
    rows = torch.cat([g[None], G])
    # Two layers, which must count as one vector.
    products = torch.stack([part @ part.T for part in rows.split([5, 15], dim=1)])
    weights = method.combine(products)
    assert torch.equal(weights[0], weights[1])
    return weights[0] @ rows


@pytest.mark.parametrize("least", [0.0, 0.5])
@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_the_dual_is_solved(tasks, least):
    for seed in range(10):
        g, G = vectors(tasks, seed, scale=0.01)
        GG, Gg = G @ G.T, G @ g
        torch.testing.assert_close(
            dual(GG, Gg, least) @ G, exact(GG, Gg, least) @ G, rtol=0, atol=1e-3 * float(g.norm())
        )


def test_the_new_gradient_does_not_oppose_any_old_task():
    for seed in range(10):
        g, G = vectors(4, seed)
        assert (G @ g < 0).any()
        cosines = G @ combined(g, G, strength=0.0) / G.norm(dim=1) / g.norm()
        assert cosines.min() > -2e-3  # the ridge makes the solution slightly inexact


def test_a_gradient_that_harms_no_old_task_does_not_change():
    _, G = vectors(4, seed=0)
    g = G.sum(dim=0)
    assert (G @ g > 0).all()
    torch.testing.assert_close(combined(g, G, strength=0.5), g)


def test_the_strength_adds_all_old_gradients_if_one_task_is_harmed():
    g, G = vectors(3, seed=1)
    assert (G @ g < 0).any()
    added = combined(g, G, strength=0.5) - g
    v = torch.linalg.lstsq(G.T, added[:, None]).solution
    assert v.min() > 0.5 - 1e-9
