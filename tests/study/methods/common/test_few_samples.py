"""The factor of a G of few samples."""

import pytest
import torch

from if2net.study.methods.common.few_samples import BLOCK, factors


def statistics(V, outputs=3):
    """G with an upper triangle that must not be read, and Q."""
    Y = torch.randn(len(V), outputs, dtype=V.dtype, generator=torch.Generator().manual_seed(1))
    return torch.tril(V.T @ V) + torch.full((V.shape[1],) * 2, torch.nan).triu(1).nan_to_num(1e9), V.T @ Y


def rows(count, width):
    return torch.relu(torch.randn(count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("samples", [1, 40, BLOCK + 30])
def test_the_factors_give_g_and_q(samples):
    V = rows(samples, 4 * samples)
    G, Q = statistics(V)
    L, C = factors(G, Q, samples)
    assert L.shape == (4 * samples, samples)
    torch.testing.assert_close(L @ L.T, V.T @ V)
    torch.testing.assert_close(L @ C, Q)


def test_samples_that_depend_on_others_need_no_columns():
    V = rows(20, 200)
    V = torch.cat([V, V[:5], V[3:4] + V[7:8], torch.zeros(2, 200, dtype=V.dtype)])
    G, Q = statistics(V)
    L, C = factors(G, Q, len(V))
    assert L.shape[1] == 20
    torch.testing.assert_close(L @ L.T, V.T @ V)
    torch.testing.assert_close(L @ C, Q)
