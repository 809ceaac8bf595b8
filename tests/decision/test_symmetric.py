"""Symmetric matrices stored as their lower triangle."""

import pytest
import torch

from if2net.decision import symmetric as symmetric_module
from if2net.decision.symmetric import (
    BLOCK,
    add_gram,
    cholesky,
    mirror,
    pack,
    symmetric,
    symmetric_norm,
    unpack,
    zeros,
)


@pytest.mark.parametrize("width", [7, BLOCK + 20])
def test_the_norm_needs_the_lower_triangle_only(task, width):
    V, _ = task(50, width, 2)
    G = zeros(width, torch.float64, "cpu")
    add_gram(G, V, 1)
    G[:BLOCK, BLOCK:] = torch.nan
    assert symmetric_norm(G) == pytest.approx(float((V.T @ V).norm()), rel=1e-12)


@pytest.mark.parametrize("width", [3, BLOCK, 2 * BLOCK + 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gram_matrices_are_added_and_subtracted(width, dtype):
    V = torch.randn(40, width, dtype=dtype, generator=torch.Generator().manual_seed(0))
    G = zeros(width, dtype, "cpu")
    for part, sign in ((V, 1), (V, 1), (V[:10], -1)):
        add_gram(G, part, sign)
    expected = 2 * V.T @ V - V[:10].T @ V[:10]
    torch.testing.assert_close(symmetric(G), expected, rtol=1e-4, atol=1e-4)


def test_a_matrix_that_is_not_contiguous_is_updated_without_blas():
    V = torch.randn(9, 5, dtype=torch.float64)
    G = torch.zeros(5, 10, dtype=torch.float64)[:, ::2]
    add_gram(G, V, 1)
    torch.testing.assert_close(symmetric(G), V.T @ V)


@pytest.mark.parametrize("width", [1, BLOCK, 2 * BLOCK + 7])
@pytest.mark.parametrize("algorithm", ["by LAPACK", "by blocks"])
def test_the_cholesky_factor_is_correct_or_none(algorithm, width, monkeypatch):
    if algorithm == "by blocks":  # as on a GPU
        monkeypatch.setattr("if2net.blas.factorise", symmetric_module._factorise_by_blocks)
    V = torch.randn(width + 5, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    G = zeros(width, torch.float64, "cpu")
    add_gram(G, V, 1)
    lower = torch.tril(cholesky(G, 2.0, torch.float64))[:width, :width]
    torch.testing.assert_close(lower @ lower.T, V.T @ V + 2 * torch.eye(width, dtype=torch.float64))
    G[-1, -1] = -1e6
    assert cholesky(G, 2.0, torch.float64) is None


def test_the_norm_of_large_entries_is_finite():
    G = torch.full((3, 3), 1e25)
    assert symmetric_norm(G) == pytest.approx(3e25, rel=1e-6)


@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_an_unpacked_triangle_is_the_whole_symmetric_matrix(width):
    A = torch.randn(width + 3, width, dtype=torch.float64)
    G = A.T @ A
    packed = pack(torch.tril(G))
    assert packed.numel() == width * (width + 1) // 2
    lower = torch.tril(G)
    assert torch.equal(unpack(packed, width), lower + torch.tril(lower, -1).T)


@pytest.mark.parametrize("width", [5, BLOCK + 20])
def test_the_lower_triangle_is_copied_to_the_upper(width):
    G = torch.randn(width, width, generator=torch.Generator().manual_seed(0))
    expected = symmetric(G)
    assert torch.equal(mirror(G), expected)
    assert torch.equal(G, expected)
