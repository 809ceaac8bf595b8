"""Functions applied to blocks of equal shape, so that a row does not depend on the others."""

import torch

from if2net.encoder.rowwise import ROWS, rowwise, rowwise_product


def test_all_blocks_have_the_same_shape_and_no_row_is_lost():
    heights = []

    def doubled(block):
        heights.append(len(block))
        return block * 2

    X = torch.randn(2 * ROWS["cpu"] + 5, 3)
    torch.testing.assert_close(rowwise(doubled, X), X * 2)
    assert heights == [ROWS["cpu"]] * 3


def test_the_rowwise_product_equals_the_matrix_product():
    V, weights = torch.randn(4, 7), torch.randn(7, 3)
    torch.testing.assert_close(rowwise_product(V, weights), V @ weights)
