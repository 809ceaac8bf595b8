"""Predictions go block by block."""

import numpy as np
import torch

from if2net import IF2Net
from if2net.encoder.rowwise import ROWS


def learned():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(3 * ROWS["cpu"] + 7, 5)), np.arange(3 * ROWS["cpu"] + 7) % 4
    return IF2Net(width=50, device="cpu", seed=0).learn(X, y), X


def test_the_scores_of_all_samples_never_exist_at_once():
    net, X = learned()
    shapes = []

    def best(scores):
        shapes.append(tuple(scores.shape))
        return scores.argmax(dim=1)

    found = net._scored(X, None, False, net._solution(), best)
    assert shapes == [(ROWS["cpu"], 4)] * 4
    assert torch.equal(found, net.scores(X).argmax(dim=1))
    np.testing.assert_array_equal(net.predict(X), net.classes[found.numpy()])
