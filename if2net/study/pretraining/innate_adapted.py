"""`@innate-adapted`: one innate network per seed, adapted to the first task of the stream of this seed.

It is not part of the classifier: the first task could no longer be forgotten exactly, and learners with different
adaptations could not be merged.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import torch

from if2net import modelfile
from if2net.encoder import INNATE
from if2net.encoder.innate import weights
from if2net.errors import ConfigurationError
from if2net.images.backbones.innate import SIZE
from if2net.images.extractor import Options
from if2net.locks import locked
from if2net.progress import Show
from if2net.study.data import Scenario
from if2net.study.pretraining.adaptation import Adaptation, adapt
from if2net.study.pretraining.preparation import Device, Folder, Prepared, backbone_path, images_of, training_images

# The backbones of this kind, and the encoders that they are adapted from.
NAMES = {f"{name}-adapted": name for name in INNATE}


def prepare(scenario: Scenario, seed: int, folder: Folder, device: Device, show: Show | None) -> Prepared:
    """Return the scenario with the adapted network of a seed, and the images that could not be used."""
    name, *options = str(scenario.backbone).split(",")
    side = Options.parse(options, {}).size or SIZE
    images = images_of(scenario, folder)
    order = scenario.class_order(seed, len(images.classes))
    first = sorted(order[: scenario.classes // scenario.tasks])
    adaptation = Adaptation(seed=seed)
    classes = [images.classes[number] for number in first]
    facts = {
        "then": f"{len(classes)} classes of {images.name}, the first task",
        "classes": classes,
        "side": side,
        "adapted": NAMES[name],
        "adaptation": asdict(adaptation),
        "from": weights.HASHES[INNATE[NAMES[name]]],
    }
    path = backbone_path(images, len(first), seed, prefix=f"{name}-{side}-")
    left_out: dict[Path, str] = {}
    with locked(path):  # a second process waits for the training instead of repeating it
        if not path.exists():
            pixels, labels, left_out = training_images(images, first, side)
            network = weights.shipped(INNATE[NAMES[name]], torch.device(device))
            pictures = torch.from_numpy(pixels).permute(0, 3, 1, 2)
            weights.save(path, adapt(network, pictures, torch.from_numpy(labels), adaptation, show), facts)
        elif not facts.items() <= modelfile.read(path)[1].items():
            raise ConfigurationError(f"{path} was adapted to other images or with other settings; move it away.")
    return Prepared(replace(scenario, backbone=",".join([str(path), *options])), left_out)
