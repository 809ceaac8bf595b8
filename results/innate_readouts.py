"""Read-outs of the innate features on held-back training pictures: random nodes, the direct link, discriminants.

A sixth of the training pictures is held back, as in `results/innate.py`. G is computed once for all nodes and
features, and every read-out uses some of its rows and columns. The output has every trial.

usage: python results/innate_readouts.py PICTURES FEATURES DATA [--size small] [--views 2] [--nodes 8192]
                                         [--fitted 50000] [--ridges 1e-3 1e-2] [--out FILE]
PICTURES is the folder of `results/innate.py`, FEATURES that of `results/innate_features.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from innate_widths import discriminant, held_back, percent
from row_files import record
from torch import Tensor

from if2net.decision.ridge import absolute_ridge, solve
from if2net.decision.statistics import Statistics, one_hot
from if2net.encoder.innate.nodes import RandomNodes
from if2net.errors import NumericalError

BLOCK = 2048
RIDGES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)


@dataclass(frozen=True)
class Readout:
    """The columns of V that are used, and the scale of the nodes relative to the features."""

    nodes: int
    direct: bool = True
    scale: float = 1.0
    pairs: bool = False  # count half the difference of both views, too


READOUTS = (
    Readout(0),
    Readout(0, pairs=True),
    Readout(2048),
    Readout(4352),
    Readout(4352, scale=0.5),
    Readout(4352, scale=2.0),
    Readout(8192),
    Readout(4352, direct=False),
    Readout(8192, direct=False),
)


@dataclass(frozen=True)
class Features:
    """The features of the pictures of a data set, by picture and view, and their classes."""

    rows: np.ndarray
    y: np.ndarray

    @classmethod
    def read(cls, pictures: Path, folder: Path, data: str, part: str, size: str) -> Features:
        rows = np.load(folder / f"{data}.{part}.{size}.npy", mmap_mode="r")
        return cls(rows, np.load(pictures / f"{data}.{part}.npz")["y"].astype(np.int64))

    def blocks(self, chosen: np.ndarray) -> Iterator[tuple[Tensor, Tensor]]:
        for first in range(0, len(chosen), BLOCK):
            places = chosen[first : first + BLOCK]
            yield torch.from_numpy(self.rows[places]).float(), torch.from_numpy(self.y[places])


def divided(pictures: int, fitted: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the pictures to fit, at most `fitted`, and of those held back."""
    mask = held_back(pictures)
    fit, held = np.flatnonzero(~mask), np.flatnonzero(mask)
    if fitted is not None and fitted < len(fit):
        fit = np.sort(np.random.default_rng(1).choice(fit, fitted, replace=False))
    return fit, held


class Counted:
    """Statistics of [nodes, features, 1] of the mean view, and of half the difference of both views."""

    def __init__(self, features: Features, fit: np.ndarray, held: np.ndarray, views: int, nodes: int) -> None:
        width, classes = features.rows.shape[2], int(features.y.max()) + 1
        self.views, self.nodes = views, RandomNodes.draw(width, nodes)
        self.mean, self.half = Statistics(nodes + width + 1), Statistics(width + 1)
        for statistics in (self.mean, self.half):
            statistics.grow(classes)
        for rows, y in features.blocks(fit):
            self.mean.add(self.represented(rows), y)
            if views == 2:
                self.half.add(torch.nn.functional.pad((rows[:, 0] - rows[:, 1]) / 2, (0, 1)), y)
        blocks = [(self.represented(rows), y) for rows, y in features.blocks(held)]
        self.V, self.y = (torch.cat(parts) for parts in zip(*blocks, strict=True))

    def represented(self, rows: Tensor) -> Tensor:
        features = rows[:, : self.views].mean(dim=1)
        nodes = [self.nodes(features)] if self.nodes.width else []
        return torch.cat([*nodes, features, torch.ones(len(rows), 1)], dim=1)

    def trials(self, readout: Readout, ridges: Sequence[float]) -> Iterator[dict[str, Any]]:
        """Yield the accuracies of one read-out with each ridge, in percent."""
        width = self.mean.width
        columns = torch.arange(width)
        features = columns >= (self.nodes.width if readout.direct else width - 1)
        columns = columns[(columns < readout.nodes) | features]
        scale = torch.where(columns < readout.nodes, readout.scale, 1.0)
        G = self.mean.G[columns][:, columns]
        if readout.pairs:
            G = G + self.half.G
        G, Q, V = G * scale * scale[:, None], self.mean.Q[columns] * scale[:, None], self.V[:, columns] * scale
        counts = self.mean.counts
        for ridge in ridges:
            try:
                beta = solve(G, Q, absolute_ridge(G, ridge))
            except NumericalError:
                continue
            scores = V @ beta
            errors = scores - one_hot(self.y, len(counts), scores.dtype)
            yield {
                **asdict(readout),
                "ridge": ridge,
                "accuracy": percent(scores, self.y),
                "discriminant": percent(discriminant(scores, Q.T @ beta / counts[:, None], counts), self.y),
                "error": round(float(errors.square().sum(dim=1).mean()), 4),
            }


def readouts(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    features = Features.read(arguments.pictures, arguments.features, arguments.data, "train", arguments.size)
    fit, held = divided(len(features.y), arguments.fitted)
    facts = {"data": arguments.data, "size": arguments.size, "views": arguments.views, "fitted": len(fit)}
    counted = Counted(features, fit, held, arguments.views, arguments.nodes)
    some = [
        readout
        for readout in READOUTS
        if readout.nodes <= arguments.nodes and not (readout.pairs and arguments.views == 1)
    ]
    for readout in some:
        for trial in counted.trials(readout, arguments.ridges):
            yield facts | trial


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("features", type=Path)
    parser.add_argument("data")
    parser.add_argument("--size", default="small")
    parser.add_argument("--views", type=int, default=2, help="2 with mirror images, 1 without")
    parser.add_argument("--nodes", type=int, default=8192, help="the most nodes that a read-out may have")
    parser.add_argument("--fitted", type=int)
    parser.add_argument("--ridges", nargs="+", type=float, default=RIDGES)
    record(parser, "nodes.jsonl", readouts, "cpu")


if __name__ == "__main__":
    main()
