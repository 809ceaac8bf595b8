import torch

from if2net.encoder.rowwise import ROWS, rowwise, rowwise_product


def test_every_block_has_the_same_shape_and_every_row_comes_back():
    heights = []

    def doubled(block):
        heights.append(len(block))
        return block * 2

    X = torch.randn(2 * ROWS["cpu"] + 5, 3)
    torch.testing.assert_close(rowwise(doubled, X), X * 2)
    assert heights == [ROWS["cpu"]] * 3


def test_the_product_has_the_columns_of_the_weights():
    V, weights = torch.randn(4, 7), torch.randn(7, 3)
    torch.testing.assert_close(rowwise_product(V, weights), V @ weights)
