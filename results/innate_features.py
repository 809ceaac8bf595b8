"""The features of the innate encoders for whole data sets, computed once for `results/innate_readouts.py`.

FOLDER has the pictures, as for `results/innate.py`. OUT gets one file per data set, part and size, such as
fashion-mnist.train.small.npy: float16, pictures × views (plain, mirrored) × features.

usage: python results/innate_features.py FOLDER OUT SIZE DATA [--parts train test] [--bfloat16] [--device cuda]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from innate_widths import both_views

from if2net.encoder.innate import weights

PICTURES = 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("size", choices=weights.HASHES)
    parser.add_argument("data")
    parser.add_argument("--parts", nargs="+", default=["train", "test"])
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    network = weights.shipped(arguments.size, device)
    torch.backends.cudnn.allow_tf32 = False  # as in the encoder
    for part in arguments.parts:
        X = np.load(arguments.folder / f"{arguments.data}.{part}.npz")["X"]
        path = arguments.out / f"{arguments.data}.{part}.{arguments.size}.npy"
        partial = path.with_suffix(".partial.npy")
        shape = (len(X), 2, network.plan.features)
        features = np.lib.format.open_memmap(partial, "w+", np.float16, shape)
        for first in range(0, len(X), PICTURES):
            some = slice(first, first + PICTURES)
            with torch.autocast(arguments.device, torch.bfloat16, enabled=arguments.bfloat16):
                features[some] = both_views(network, X[some], device).half().cpu().numpy()
        features.flush()
        partial.rename(path)
        print(path.name, flush=True)


if __name__ == "__main__":
    main()
