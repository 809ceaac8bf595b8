"""Numbers of random nodes and ridges for the innate features, on held-back training pictures.

A sixth of the training pictures is held back. `accuracy` and `error`, the squared error per picture, are those of
the ridge regression on these pictures, and `discriminant` is the accuracy of the linear discriminant with equal
priors from the same sums. Three criteria need no held-back pictures: `gcv`, generalised cross-validation; `inner`,
the squared error on a fifth of the other pictures; `inner_fifth`, the same with every fifth feature. The output has
every trial. The script is meant for a GPU, on which the networks compute in TF32.

usage: python results/innate_widths.py PICTURES DATA... [--sizes small large both] [--views 1 2] [--nodes 0 4352]
                                       [--device cuda] [--out FILE]
PICTURES is the folder of `results/innate.py`. A size may also be a file of `if2net innate train`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from row_files import record
from torch import Tensor
from torch.nn.functional import interpolate

from if2net.encoder.innate import weights
from if2net.encoder.innate.encoder import SIDE
from if2net.encoder.innate.network import Network
from if2net.encoder.innate.nodes import RandomNodes

BLOCK = 1000
RIDGES = tuple(10 ** (place / 2) for place in range(-8, 1))


def features(size: str, X: np.ndarray, device: torch.device) -> Tensor:
    """Return the features of both views, pictures × 2 × features. The size "both" joins both networks."""
    if size == "both":
        return torch.cat([features(one, X, device) for one in ("small", "large")], dim=2)
    network = weights.read(size, device) if size.endswith(".if2") else weights.shipped(size, device)
    return both_views(network, X, device)


def both_views(network: Network, X: np.ndarray, device: torch.device, side: int = SIDE) -> Tensor:
    """Return the features of each picture and of its mirror image, pictures × 2 × features.

    The pictures are resized to a square of this side, as those with sides below 32 are in the encoder.
    """
    pictures = torch.from_numpy(X if X.ndim == 4 else X[..., None]).permute(0, 3, 1, 2)
    rows = []
    for some in pictures.split(BLOCK):
        plain = some.to(device).float() / 255
        if plain.shape[2:] != (side, side):
            plain = interpolate(plain, (side, side), mode="bilinear", antialias=True)
        rows.append(torch.stack([network.rows(view) for view in (plain, plain.flip(3))], dim=1))
    return torch.cat(rows)


def held_back(pictures: int) -> np.ndarray:
    """Return the mask of the held-back pictures, a sixth of all."""
    return np.random.default_rng(0).permutation(pictures) % 6 == 0


class Sums:
    """n, G and Q of [nodes, features, 1], in float64."""

    def __init__(self, V: Tensor, Y: Tensor) -> None:
        self.n = len(V)
        self.G = torch.zeros(V.shape[1], V.shape[1], dtype=torch.float64, device=V.device)
        self.Q = torch.zeros(V.shape[1], Y.shape[1], dtype=torch.float64, device=V.device)
        for rows, targets in zip(V.split(10_000), Y.split(10_000), strict=True):
            self.G += rows.double().T @ rows.double()
            self.Q += rows.double().T @ targets

    def error(self, beta: Tensor) -> float:
        """Return ‖Vβ − Y‖²/n."""
        return float((beta * (self.G @ beta - 2 * self.Q)).sum()) / self.n + 1


def solved(sums: Sums, ridge: float, step: int = 1) -> tuple[Tensor, Tensor]:
    """Return β of every step-th feature, zero elsewhere, and the factor."""
    G = sums.G[::step, ::step].clone()
    alpha = ridge * float(G.diagonal().mean())
    G.diagonal().add_(alpha)
    lower = torch.linalg.cholesky(G)
    beta = torch.zeros_like(sums.Q)
    beta[::step] = torch.cholesky_solve(sums.Q[::step], lower)
    return beta, lower


def trials(V: Tensor, y: Tensor, held: Tensor) -> Iterator[dict[str, float]]:
    """Yield the accuracies and criteria of each ridge."""
    Y = torch.nn.functional.one_hot(y).double()
    counts = Y[~held].sum(dim=0)
    inner = (torch.arange(len(y), device=y.device) % 5 == 0) & ~held
    whole, outer, tested = (
        Sums(V[~held], Y[~held]),
        Sums(V[~held & ~inner], Y[~held & ~inner]),
        Sums(V[inner], Y[inner]),
    )
    rows = V[held].double()
    for ridge in RIDGES:
        beta, lower = solved(whole, ridge)
        scores = rows @ beta
        alpha = ridge * float(whole.G.diagonal().mean())
        free = len(lower) - alpha * float(torch.cholesky_inverse(lower).diagonal().sum())
        del lower
        means = whole.Q.T @ beta / counts[:, None]
        yield {
            "ridge": ridge,
            "accuracy": percent(scores, y[held]),
            "discriminant": percent(discriminant(scores, means, counts), y[held]),
            "error": float((scores - Y[held]).square().sum(dim=1).mean()),
            "gcv": whole.error(beta) / (1 - free / whole.n) ** 2,
            "inner": tested.error(solved(outer, ridge)[0]),
            "inner_fifth": tested.error(solved(outer, ridge, step=5)[0]),
        }


def discriminant(scores: Tensor, means: Tensor, counts: Tensor) -> Tensor:
    """Return the scores of the linear discriminant with equal priors from those of the ridge regression.

    With the scatter A = G − Σ n μμᵀ + αI within the classes, M the class means as columns and N = diag(n):
    β = (A + MNMᵀ)⁻¹MN = A⁻¹M(N⁻¹ + K)⁻¹ with K = MᵀA⁻¹M, and therefore A⁻¹M = β(N⁻¹ + K). K follows from the mean
    scores B = Mᵀβ = K(N⁻¹ + K)⁻¹ as (I − B)⁻¹BN⁻¹.
    """
    B, inverse = means.double(), torch.diag(1 / counts.double())
    K = torch.linalg.solve(torch.eye(len(B), dtype=B.dtype, device=B.device) - B, B @ inverse)
    return scores.double() @ (inverse + K) - K.diagonal() / 2


def percent(scores: Tensor, y: Tensor) -> float:
    return round(100 * float((scores.argmax(dim=1) == y).double().mean()), 2)


def readouts(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    device = torch.device(arguments.device)
    for data in arguments.data:
        pictures = np.load(arguments.pictures / f"{data}.train.npz")
        y = torch.from_numpy(pictures["y"].astype(np.int64)).to(device)
        held = torch.from_numpy(held_back(len(y))).to(device)
        for size in arguments.sizes:
            both = features(size, pictures["X"], device)
            for views in arguments.views:
                rows = both[:, :views].mean(dim=1)
                for width in arguments.nodes:
                    nodes = [RandomNodes.draw(rows.shape[1], width).to(device)(rows)] if width else []
                    V = torch.cat([*nodes, rows, torch.ones_like(rows[:, :1])], dim=1)
                    facts = {"data": data, "size": size, "views": views, "nodes": width, "width": V.shape[1]}
                    for trial in trials(V, y, held):
                        yield facts | trial
                    del V, nodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--sizes", nargs="+", default=["small", "large", "both"])
    parser.add_argument("--views", nargs="+", type=int, default=[2, 1], help="2 with mirror images, 1 without")
    parser.add_argument("--nodes", nargs="+", type=int, default=[0, 4352, 8192, 16384])
    parser.add_argument("--device", default="cuda")
    record(parser, "widths.jsonl", readouts)


if __name__ == "__main__":
    main()
