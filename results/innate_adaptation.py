"""Trials of innate networks that are adapted to the first task, on held-back training pictures.

The pictures are resized as by the backbone of the study. A sixth of the training pictures is held back, as in
`results/innate.py`. The network adapts to the other pictures of the first classes. A learner with the default nodes
then learns some pictures of all classes, with mirror images. The first row is the network without adaptation. `first`
and `later` are the accuracies on the classes of the first task and on the others, `change` is the relative change of
the features.

usage: python results/innate_adaptation.py FOLDER [--data fashion-mnist] [--encoder innate] [--classes 2]
                                           [--orders 0 1] [--rates 1e-5 3e-5 1e-4] [--steps 300] [--learned 12000]
                                           [--device cpu] [--out FILE]
FOLDER is that of `results/innate.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from innate_widths import both_views, held_back
from row_files import record

from if2net.config import Config
from if2net.encoder import INNATE
from if2net.encoder.innate import weights
from if2net.encoder.innate.network import Network
from if2net.images.backbones.innate import Innate
from if2net.images.read import frame_pixels
from if2net.study.methods.common.encoded import EncodedLearner
from if2net.study.pretraining.adaptation import Adaptation, adapt


class Trials:
    """The pictures of a data set, and the choice of pictures to learn and to test."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        file = np.load(arguments.folder / f"{arguments.data}.train.npz")
        framing = Innate.preprocessing.framing
        self.X = np.stack([frame_pixels(picture, framing) for picture in file["X"]])
        self.y = file["y"].astype(int)
        self.config = Config(encoder=arguments.encoder, device=arguments.device)
        self.device = torch.device(arguments.device)
        self.tested = held_back(len(self.y))
        chosen = np.random.default_rng(0).permutation(np.flatnonzero(~self.tested))
        self.learned = np.sort(chosen[: arguments.learned])

    def rows(self, network: Network, some: np.ndarray) -> np.ndarray:
        return both_views(network, self.X[some], self.device).mean(dim=1).cpu().numpy()

    def adapted(self, network: Network, first: np.ndarray, adaptation: Adaptation) -> Network:
        seen = ~self.tested & np.isin(self.y, first)
        pictures = torch.from_numpy(self.X[seen])
        labels = torch.from_numpy(np.searchsorted(np.sort(first), self.y[seen]))
        return adapt(network, pictures.permute(0, 3, 1, 2), labels, adaptation)

    def right(self, network: Network) -> np.ndarray:
        """Return which of the held-back pictures are recognised."""
        X = self.rows(network, self.learned)
        net = EncodedLearner(self.config, X.shape[1]).learn(X, self.y[self.learned])
        return net.predict(self.rows(network, self.tested)) == self.y[self.tested]

    def accuracies(self, right: np.ndarray, first: np.ndarray) -> dict[str, float]:
        old = np.isin(self.y[self.tested], first)
        shares = {"accuracy": right, "first": right[old], "later": right[~old]}
        return {name: round(100 * float(values.mean()), 2) for name, values in shares.items()}


def trials(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    data = Trials(arguments)
    network = weights.shipped(INNATE[arguments.encoder], data.device)
    before, right = data.rows(network, data.learned[:1000]), data.right(network)
    for order in arguments.orders:
        first = np.random.default_rng(order).permutation(int(data.y.max()) + 1)[: arguments.classes]
        facts = {
            "data": arguments.data,
            "encoder": arguments.encoder,
            "learned": len(data.learned),
            "tested": int(data.tested.sum()),
            "order": order,
            "classes": first.tolist(),
        }
        yield facts | {"rate": 0.0, "steps": 0, "change": 0.0} | data.accuracies(right, first)
        for rate in arguments.rates:
            adaptation = Adaptation(steps=arguments.steps, rate=rate, seed=order)
            adapted = data.adapted(network, first, adaptation)
            change = np.linalg.norm(data.rows(adapted, data.learned[:1000]) - before) / np.linalg.norm(before)
            trial = {"rate": rate, "steps": arguments.steps, "change": round(float(change), 3)}
            yield facts | trial | data.accuracies(data.right(adapted), first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--encoder", default="innate", choices=INNATE)
    parser.add_argument("--classes", type=int, default=2, help="of the first task")
    parser.add_argument("--orders", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-5, 3e-5, 1e-4])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--learned", type=int, default=12_000, help="pictures of all classes to learn")
    parser.add_argument("--device", default="cpu")
    record(parser, "adaptation.jsonl", trials)


if __name__ == "__main__":
    main()
