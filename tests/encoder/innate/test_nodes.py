import torch

from if2net.encoder.innate.nodes import MEAN, RandomNodes


def weights(nodes):
    """Return W, one row per node, from the responses to single features of both signs."""
    identity = torch.eye(nodes.features, dtype=torch.float64)
    return (nodes(identity) - nodes(-identity)).T


def test_the_nodes_are_random_directions_of_which_those_of_a_block_are_orthogonal():
    nodes = RandomNodes.draw(features=64, width=100)
    W = weights(nodes)
    assert W.shape == (100, 64)
    torch.testing.assert_close(W[:64] @ W[:64].T, torch.eye(64, dtype=torch.float64))
    overlap = W[:64] @ W[64:].T
    assert float(overlap.abs().max()) < 0.6
    assert 0.8 < float(overlap.square().mean() * 64) < 1.2


def test_the_response_is_rectified_and_has_about_mean_zero():
    nodes, V = RandomNodes.draw(features=50, width=80), torch.randn(2000, 50, dtype=torch.float64)
    torch.testing.assert_close(nodes(V), torch.relu(V @ weights(nodes).T) - MEAN)
    assert abs(float(nodes(V).mean())) < 0.02


def test_fewer_nodes_are_the_first_of_more():
    V = torch.randn(3, 20)
    assert torch.equal(RandomNodes.draw(20, 70)(V)[:, :40], RandomNodes.draw(20, 40)(V))
