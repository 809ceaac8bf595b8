"""Forgetting that cannot be exact is refused before anything is changed."""

import numpy as np
import pytest
import torch

from if2net import IF2Net
from if2net.errors import InputError


def samples(scale, first):
    random = np.random.default_rng(first)
    y = np.arange(200) % 2 + first
    return scale * (random.normal(size=(200, 10)) + 3 * np.eye(10)[y]), y


@pytest.mark.parametrize("settings", [{"encoder": "linear", "standardise": "none"}, {"width": 200}])
def test_small_samples_are_not_left_in_the_rounding_of_large_ones(settings):
    net = IF2Net(device="cpu", **settings).learn(*samples(1.0, 0)).learn(*samples(1e4, 2))
    before, X = net.decision.G.clone(), samples(1.0, 0)[0]
    scores = net.scores(X)
    with pytest.raises(InputError, match="lost in rounding"):
        net.forget(*samples(1e4, 2))
    assert torch.equal(net.decision.G.tril(), before.tril())
    assert torch.equal(net.scores(X), scores)
    assert net.classes.tolist() == [0, 1, 2, 3]


def test_float64_can_forget_them():
    settings = {"device": "cpu", "dtype": "float64", "encoder": "linear", "standardise": "none"}
    alone = IF2Net(**settings).learn(*samples(1.0, 0))
    net = IF2Net(**settings).learn(*samples(1.0, 0)).learn(*samples(1e4, 2)).forget(*samples(1e4, 2))
    X = samples(1.0, 0)[0]
    torch.testing.assert_close(net.scores(X), alone.scores(X), rtol=1e-5, atol=1e-5)


def test_large_samples_can_be_left_by_small_ones_and_all_by_all():
    net = IF2Net(device="cpu", encoder="linear", standardise="none").learn(*samples(1.0, 0)).learn(*samples(1e4, 2))
    assert net.forget(*samples(1.0, 0)).classes.tolist() == [2, 3]
    assert net.forget(*samples(1e4, 2)).classes.tolist() == []
