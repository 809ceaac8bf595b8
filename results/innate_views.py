"""Sides of the pictures in the network and weights of their mirror images, on held-back training pictures.

The pictures are resized to a square of this side, and the features are (1 - w) f(picture) + w f(mirror image) for the
weight w; the encoder has w = 0 without flips and 1/2 with them. It has its default number of random nodes. A sixth of
the training pictures is held back, as in `results/innate_widths.py`, and the ridge is the best of `RIDGES` on these
pictures. The output has one row per side and weight. `over_plain` and `over_flips` compare its accuracy with that of
the same pictures with their own side, without mirror images and with w = 1/2: the difference in points and its
standard error. Without DATA, the output has the rate of the network by the side: pictures per second of processor
time of one thread, without nodes and mirror images.

usage: python results/innate_views.py PICTURES CACHE DATA... [--size small] [--sides 32 36 40] [--weights 0.2 0.35]
                                      [--fitted 20000] [--device cpu] [--out FILE]
PICTURES is the folder of `results/innate.py`. Features are kept in CACHE.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from innate_readouts import divided
from innate_widths import both_views
from row_files import record
from torch import Tensor

from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.statistics import Statistics
from if2net.encoder.innate import weights
from if2net.encoder.innate.encoder import NODES
from if2net.encoder.innate.network import Network
from if2net.encoder.innate.nodes import RandomNodes

PICTURES, BLOCK, ROUNDS = 128, 2048, 29
RIDGES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)
PLAIN, FLIPS = 0.0, 0.5


def cached(path: Path, size: str, X: np.ndarray, side: int, device: torch.device) -> np.ndarray:
    """Return the features of both views at this side, pictures × 2 × features, in float16."""
    if not path.exists():
        network = weights.shipped(size, device)
        parts = [X[first : first + PICTURES] for first in range(0, len(X), PICTURES)]
        features = np.concatenate([both_views(network, part, device, side).half().cpu().numpy() for part in parts])
        np.save(path, features)
    return np.load(path, mmap_mode="r")


def represented(features: np.ndarray, weight: float, nodes: RandomNodes) -> Tensor:
    """Return V = [nodes, features, 1] of the weighted mean of both views."""
    views = torch.from_numpy(np.array(features)).float().to(nodes.signs.device)
    mean = (1 - weight) * views[:, 0] + weight * views[:, 1]
    return torch.cat([nodes(mean), mean, torch.ones_like(mean[:, :1])], dim=1)


def correct(features: np.ndarray, y: Tensor, fitted: int, weight: float, nodes: RandomNodes) -> dict[float, Tensor]:
    """Return, for each ridge, which of the held-back pictures are classified correctly. The first ones are fitted."""
    statistics = Statistics(nodes.width + nodes.features + 1, device=y.device)
    statistics.grow(int(y.max()) + 1)
    for first in range(0, fitted, BLOCK):
        some = slice(first, min(first + BLOCK, fitted))
        statistics.add(represented(features[some], weight, nodes), y[some])
    G, Q = statistics.G, statistics.Q
    V = represented(features[fitted:], weight, nodes)
    betas = {ridge: solve(G, Q, absolute_ridge(G, ridge)) for ridge in RIDGES}
    return {ridge: (V @ beta).argmax(dim=1) == y[fitted:] for ridge, beta in betas.items()}


def points(difference: Tensor) -> list[float]:
    """Return the mean in percent and its standard error."""
    values = 100 * difference.double()
    return [round(float(values.mean()), 3), round(float(values.std()) / len(values) ** 0.5, 3)]


def rate(network: Network, side: int) -> float:
    """Return the pictures that the network takes per second of processor time of one thread."""
    torch.set_num_threads(1)
    pictures, seconds = torch.rand(PICTURES, 1, side, side), []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        network.rows(pictures)
        seconds.append(time.process_time() - start)
    return PICTURES / median(seconds[1:])


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    device, size = torch.device(arguments.device), arguments.size
    if not arguments.data:
        for side in (28, *arguments.sides):
            yield {"side": side, "per_second": round(rate(weights.shipped(size, device), side))}
    nodes = RandomNodes.draw(weights.shipped(size, device).plan.features, NODES[size]).to(device)
    for data in arguments.data:
        pictures = np.load(arguments.pictures / f"{data}.train.npz")
        fit, held = divided(len(pictures["y"]), arguments.fitted)
        places = np.concatenate([fit, held])
        X, y = pictures["X"][places], torch.from_numpy(pictures["y"][places].astype(np.int64)).to(device)
        own = X.shape[1]
        references: dict[float, Tensor] = {}
        for side in dict.fromkeys([own, *arguments.sides]):
            features = cached(arguments.cache / f"{data}.{size}.{side}.{len(fit)}.npy", size, X, side, device)
            for weight in dict.fromkeys([PLAIN, FLIPS, *arguments.weights]):
                trials = correct(features, y, len(fit), weight, nodes)
                ridge = max(trials, key=lambda each: int(trials[each].sum()))
                right = trials[ridge].int()
                if side == own:
                    references[weight] = right
                accuracy, error = points(right)
                yield {
                    "data": data,
                    "side": side,
                    "weight": weight,
                    "fitted": len(fit),
                    "held_back": len(held),
                    "ridge": ridge,
                    "accuracy": accuracy,
                    "standard_error": error,
                    "over_plain": points(right - references[PLAIN]),
                    "over_flips": points(right - references[FLIPS]) if FLIPS in references else None,
                    "by_ridge": [points(each.int())[0] for each in trials.values()],
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--size", default="small", choices=weights.HASHES)
    parser.add_argument("--sides", nargs="+", type=int, default=[32, 36, 40])
    parser.add_argument("--weights", nargs="+", type=float, default=[0.2, 0.35])
    parser.add_argument("--fitted", type=int, default=20_000)
    parser.add_argument("--device", default="cpu")
    record(parser, "views.jsonl", rows)


if __name__ == "__main__":
    main()
