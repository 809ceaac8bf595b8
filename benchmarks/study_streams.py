"""The number of batches that the guard against wrong units refuses on the streams of the study.

Each task of a stream is one batch, as in `if2net run`, in five class orders, with the scale of the first task and the
searched settings of the data set. MNIST and FashionMNIST have the dense and the innate encoder, digits the dense one.
Images have features of the innate encoder or of EfficientNet-Lite0, for the first images of each class. `size` is the
largest relative size of a batch; batches above `limit` are refused. The innate encoder compares the range of values
instead, so it has no size. Streams whose backbones must be trained need a GPU and are left out.

usage: python benchmarks/study_streams.py --data DIR [--images N] [--out FILE]
DIR holds mnist/, fashion-mnist/, cifar100/ and cub200/.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recording import options, write

from if2net.encoder import DenseEncoder, Encoder, encoder_config
from if2net.encoder.innate.encoder import InnateConfig, InnateEncoder
from if2net.guards import TOO_LARGE, looks_usual, relative_size
from if2net.images.extractor import load_extractor
from if2net.study.bench.environment import environment
from if2net.study.bench.hyperparameters import for_pictures, searched
from if2net.study.bench.loading import image_rows
from if2net.study.bench.settings import resolve
from if2net.study.data import Dataset, ImageDataset, Scenario, load_dataset, load_images, parse_scenario
from if2net.study.data.image_files import Files

SEEDS = 5
STREAMS = (
    *(f"{name}-10/{tasks}" for name in ("digits", "mnist", "fashion-mnist") for tasks in (5, 10)),
    *(f"cifar100-{stream}@innate" for stream in ("60/10", "60/20", "100/10", "100/100")),
    *(f"cub200-{stream}@efficientnet-lite0" for stream in ("100/5", "100/10", "100/20", "200/200")),
)


def first_images(images: ImageDataset, count: int) -> ImageDataset:
    """Return the first training images of each class, and one test image of each, which is not used."""

    def first(files: Files, count: int) -> Files:
        places = np.concatenate([np.flatnonzero(files.labels == label)[:count] for label in np.unique(files.labels)])
        return Files(tuple(files.paths[place] for place in places), files.labels[places])

    return replace(images, train=first(images.train, count), test=first(images.test, 1))


def loaded(name: str, backbone: str | None, folder: Path, count: int) -> Dataset:
    if backbone is None:
        return load_dataset(name, folder)
    return image_rows(first_images(load_images(name, folder), count), load_extractor(backbone))[0]


def encoders(scenario: Scenario, inputs: int) -> Iterator[tuple[str, Encoder]]:
    """Yield the encoders of the study for a stream. The dense one has no layers, because no check uses them."""
    settings = resolve(["if2net"], "agnostic", searched(["if2net"], scenario.dataset, "agnostic"))["if2net"]
    assert settings.check_inputs
    yield "dense", DenseEncoder(encoder_config("linear", inputs, standardise=settings.standardise), seed=0)
    if given := for_pictures(scenario, "agnostic", []):
        settings = resolve(["if2net"], "agnostic", given)["if2net"]
        yield "innate", InnateEncoder(InnateConfig.of(settings.encoder, settings.shape, None, 0))


def refusals(data: Dataset, scenario: Scenario, which: str) -> dict[str, Any]:
    sizes, batches, refused = [], 0, 0
    for seed in range(SEEDS):
        _, tasks = scenario.stream(data, seed)
        encoder = dict(encoders(scenario, data.train_X.shape[1]))[which]
        for task in tasks:
            X = torch.from_numpy(np.ascontiguousarray(task.train_X)).float()
            if task.index == 0:
                encoder.start(X)
            sizes.append(float(relative_size(X, encoder)))
            usual = looks_usual(X, encoder) & encoder.fits(X)
            batches, refused = batches + 1, refused + (not bool(usual))
    counts: dict[str, Any] = {"batches": batches, "refused": refused}
    return counts if which == "innate" else counts | {"size": max(sizes)}


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--images", type=int, default=10, help="images of each class")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"environment": environment("cpu"), "images": arguments.images, "limit": TOO_LARGE}
    report["streams"], data = {}, {}
    for name in STREAMS:
        scenario = parse_scenario(name)
        key = scenario.dataset, scenario.backbone
        if key not in data:
            data = {key: loaded(*key, arguments.data, arguments.images)}
        for which, _ in encoders(scenario, data[key].train_X.shape[1]):
            report["streams"][f"{name}, {which}"] = refusals(data[key], scenario, which)
            print(name, which, report["streams"][f"{name}, {which}"], flush=True)
    write(arguments.out, report)


if __name__ == "__main__":
    main()
