"""The small innate network in float32, bfloat16 and eight bits: its rate on a CPU, and what its features are worth.

The eight bits are those of PyTorch's static quantisation for x86, calibrated on drawings. The features are those of
plain pictures, and the read-out is that of `results/innate_views.py`: the default number of random nodes, and the
best of seven ridges on held-back training pictures. `over_float32` compares the accuracy with that in float32: the
difference in points and its standard error, the same pictures compared in pairs. Rates are pictures of 32×32 pixels
per second of processor time of one thread, without nodes and mirror images.

usage: python results/innate_int8.py PICTURES DATA... [--fitted 20000] [--out FILE]
PICTURES is the folder of `results/innate.py`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from innate_readouts import divided
from innate_views import correct, points, rate
from innate_widths import both_views
from row_files import record
from torch import Tensor

from if2net.encoder.innate import weights
from if2net.encoder.innate.drawings import Drawings
from if2net.encoder.innate.encoder import NODES, SIDE
from if2net.encoder.innate.network import Network
from if2net.encoder.innate.nodes import RandomNodes

CALIBRATED, PICTURES = 1024, 128
PRECISIONS = ("float32", "bfloat16", "int8")


class Converted(Network):
    """A network whose maps another module computes, from pictures of some type."""

    def __init__(self, network: Network, maps: torch.nn.Module, dtype: torch.dtype) -> None:
        super().__init__(network.plan, folded=True)
        self.load_state_dict(network.state_dict())
        self.maps, self.dtype = maps, dtype

    def forward(self, pictures: Tensor) -> list[Tensor]:
        return [each.float() for each in self.maps(pictures.to(self.dtype))]


def network_in(precision: str) -> Network:
    """Return the small network with maps that are computed in this precision."""
    network = weights.shipped("small", torch.device("cpu"))
    if precision == "bfloat16":
        return Converted(network, deepcopy(network).to(torch.bfloat16), torch.bfloat16)
    return Converted(network, quantised(network), torch.float32) if precision == "int8" else network


def quantised(network: Network) -> torch.nn.Module:
    """Return the network in eight bits, with ranges from drawings."""
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    drawings, numbers = Drawings(seed=1), torch.arange(CALIBRATED)
    pictures = drawings.draw(numbers, torch.zeros_like(numbers), SIDE).contiguous(memory_format=torch.channels_last)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch.ao.quantization is deprecated
        prepared = prepare_fx(deepcopy(network), get_default_qconfig_mapping("x86"), (pictures[:1],))
        for some in pictures.split(PICTURES):
            prepared(some)
        return convert_fx(prepared)


def features(network: Network, X: np.ndarray) -> np.ndarray:
    """Return the features of plain pictures and mirror images, pictures × 2 × features."""
    device = torch.device("cpu")
    parts = [X[first : first + PICTURES] for first in range(0, len(X), PICTURES)]
    return np.concatenate([both_views(network, part, device).half().numpy() for part in parts])


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    networks = {precision: network_in(precision) for precision in PRECISIONS}
    threads = torch.get_num_threads()
    for precision, network in networks.items():
        yield {"precision": precision, "per_second": round(rate(network, SIDE))}
    torch.set_num_threads(threads)
    nodes = RandomNodes.draw(networks["float32"].plan.features, NODES["small"])
    for data in arguments.data:
        pictures = np.load(arguments.pictures / f"{data}.train.npz")
        fit, held = divided(len(pictures["y"]), arguments.fitted)
        places = np.concatenate([fit, held])
        X, y = pictures["X"][places], torch.from_numpy(pictures["y"][places].astype(np.int64))
        reference: Tensor | None = None
        for precision, network in networks.items():
            trials = correct(features(network, X), y, len(fit), 0.0, nodes)
            ridge = max(trials, key=lambda each: int(trials[each].sum()))
            right = trials[ridge].int()
            reference = right if reference is None else reference
            accuracy, error = points(right)
            yield {
                "data": data,
                "precision": precision,
                "fitted": len(fit),
                "held_back": len(held),
                "ridge": ridge,
                "accuracy": accuracy,
                "standard_error": error,
                "over_float32": points(right - reference),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--fitted", type=int, default=20_000)
    record(parser, "int8.jsonl", rows, "cpu")


if __name__ == "__main__":
    main()
