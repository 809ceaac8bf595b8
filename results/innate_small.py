"""Trials of small innate networks: grey drawings, other shapes of the network, imitation of the large one.

Each network is trained on drawings and tested on a sixth of the training pictures, as in `results/innate_widths.py`:
with the best of nine ridges, on the features alone and with the default random nodes. The script needs a GPU.

usage: python results/innate_small.py PICTURES DATA... [--imitation 0 10] [--grey 1] [--plain 0.3] [--steps 12000]
                                      [--widths 32 80 160 320] [--blocks 0 1 1 1] [--weights FILE] [--out FILE]
PICTURES is the folder of `results/innate.py`. --weights writes the last network to a file.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from innate_widths import RIDGES, Sums, both_views, held_back, percent, solved
from row_files import record

from if2net.encoder.innate import weights
from if2net.encoder.innate.drawings import Drawings, Recipe
from if2net.encoder.innate.encoder import NODES
from if2net.encoder.innate.network import Network, fold
from if2net.encoder.innate.nodes import RandomNodes
from if2net.encoder.innate.training import SIZES, train

DEVICE = torch.device("cuda")


def judged(network: Network, X: np.ndarray, y: torch.Tensor) -> Iterator[dict[str, Any]]:
    """Yield the best accuracy on held-back pictures, with and without mirror images and nodes."""
    held = torch.from_numpy(held_back(len(y))).to(DEVICE)
    Y = torch.nn.functional.one_hot(y).double()
    both = both_views(network, X, DEVICE)
    for views in (2, 1):
        rows = both[:, :views].mean(dim=1)
        for width in (0, NODES["small"]):
            nodes = [RandomNodes.draw(rows.shape[1], width).to(DEVICE)(rows)] if width else []
            V = torch.cat([*nodes, rows, torch.ones_like(rows[:, :1])], dim=1)
            sums, questions = Sums(V[~held], Y[~held]), V[held].double()
            accuracies = {ridge: percent(questions @ solved(sums, ridge)[0], y[held]) for ridge in RIDGES}
            ridge = max(accuracies, key=lambda ridge: accuracies[ridge])
            yield {"views": views, "nodes": width, "ridge": ridge, "accuracy": accuracies[ridge]}


def trials(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    plan, course = SIZES["small"]
    plan = replace(plan, widths=tuple(arguments.widths), blocks=tuple(arguments.blocks))
    recipe = Recipe(grey=arguments.grey, plain=arguments.plain)
    for imitation in arguments.imitation:
        teacher = "large" if imitation else None
        chosen = replace(course, steps=arguments.steps, teacher=teacher, imitation=imitation or course.imitation)
        drawings, started = Drawings(chosen.seed, recipe, compiled=True), time.perf_counter()
        network = train(plan, chosen, drawings, DEVICE, teacher=weights.shipped(teacher, DEVICE) if teacher else None)
        facts = {"imitation": imitation, "steps": chosen.steps, "seconds": round(time.perf_counter() - started, 1)}
        facts |= {"grey": recipe.grey, "plain": recipe.plain, "widths": plan.widths, "blocks": plan.blocks}
        if arguments.weights:
            facts["hash"] = weights.write(arguments.weights, network, recipe, chosen)
        for data in arguments.data:
            pictures = np.load(arguments.pictures / f"{data}.train.npz")
            y = torch.from_numpy(pictures["y"].astype(np.int64)).to(DEVICE)
            for row in judged(fold(network), pictures["X"], y):
                yield facts | {"data": data} | row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("data", nargs="+")
    plan, _ = SIZES["small"]
    parser.add_argument("--imitation", nargs="+", type=float, default=[0.0])
    parser.add_argument("--grey", type=float, default=Recipe.grey)
    parser.add_argument("--plain", type=float, default=Recipe.plain)
    parser.add_argument("--widths", nargs="+", type=int, default=plan.widths)
    parser.add_argument("--blocks", nargs="+", type=int, default=plan.blocks)
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--weights", type=Path)
    record(parser, "small.jsonl", trials, DEVICE)


if __name__ == "__main__":
    main()
