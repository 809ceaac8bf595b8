"""Predictions go block by block."""

import threading

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


def test_readers_see_the_model_before_or_after_a_change_never_in_between():
    random = np.random.default_rng(0)
    centres = 10 * np.eye(12)

    def samples(label):
        return centres[label] + random.normal(size=(40, 12)), np.full(40, label)

    net = IF2Net(width=50, device="cpu", seed=0).learn(*samples(0)).learn(*samples(1))
    failures, finished = [], threading.Event()

    def read():
        while not finished.is_set():
            try:
                known = len(net.classes)
                shares = net.probabilities(centres)
                assert shares.shape[1] >= known
                assert net.predict(centres[:2]).tolist() == [0, 1]
            except Exception as error:
                failures.append(repr(error))
                return

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for label in range(2, 12):
        net.learn(*samples(label))
    finished.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert net.predict(centres).tolist() == list(range(12))
