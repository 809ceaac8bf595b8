import pytest
import torch

from if2net.study.methods.common.memory_gradients import MemoryGradientsSettings
from if2net.study.methods.logd import LOGD

GAMMA = 0.5


def vectors(tasks, seed, sign):
    """A gradient and those of the old tasks, whose common direction it follows or opposes, by `sign`."""
    random = torch.Generator().manual_seed(seed)
    g, common, *own = torch.randn(2 + tasks, 30, dtype=torch.float64, generator=random)
    return g + 3 * sign * common, torch.stack([common + vector for vector in own])


def combined(layers):
    method = LOGD(6, 0, torch.device("cpu"), MemoryGradientsSettings(strength=GAMMA))
    rows = [torch.cat([g[None], G]) for g, G in layers]
    weights = method.combine(torch.stack([layer @ layer.T for layer in rows]))
    return [weight @ layer for weight, layer in zip(weights, rows, strict=True)]


def written_out(g, G):
    """The definition, computed with the full vectors."""
    s = G.sum(dim=0)
    if len(G) == 1:
        return g + max(float(-(s @ g) / (s @ s)), GAMMA) * s
    U = torch.linalg.svd(G - G.mean(dim=0), full_matrices=False)[2][: min(3, len(G) - 1)]

    def P(v):
        return v - U.T @ (U @ v)

    if s @ P(g) > 0:
        return P(g)
    c = float(s @ P(g) / (s @ P(s)))
    return P(g) + max(-c, GAMMA) * s + c * (U.T @ (U @ s))


@pytest.mark.parametrize("sign", [-1, -0.1, 1])
@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 7])
def test_every_layer_follows_the_definition(tasks, sign):
    layers = [vectors(tasks, seed, sign) for seed in range(4)]
    for result, (g, G) in zip(combined(layers), layers, strict=True):
        torch.testing.assert_close(result, written_out(g, G))


def test_the_specific_part_is_removed_and_the_shared_part_is_not_opposed():
    for seed in range(5):
        g, G = vectors(4, seed, sign=-1)
        s, specific = G.sum(dim=0), G - G.mean(dim=0)
        (result,) = combined([(g, G)])
        assert s @ g < 0
        assert s @ result > -1e-9 * s.norm() * result.norm()
        (along,) = combined([(-g, G)])
        assert (specific @ along).abs().max() < 1e-9 * along.norm() * specific.norm()


def test_old_tasks_with_equal_gradients_have_no_specific_part():
    g, G = vectors(1, seed=0, sign=1)
    (result,) = combined([(g, G.expand(3, -1))])
    torch.testing.assert_close(result, g)
