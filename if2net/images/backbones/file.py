"""Backbone files: the weights of a pre-trained ResNet, and the classes that it has seen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from if2net import modelfile
from if2net.encoder.innate import weights
from if2net.errors import ModelFileError
from if2net.images.backbones import innate
from if2net.images.backbones.base import Backbone, Preprocessing
from if2net.images.backbones.network import Network
from if2net.images.backbones.resnet import ResNet
from if2net.images.read import Framing
from if2net.tensor_specs import TensorSpec, check

KIND = "backbone"

# The last three stages: later ones separate the classes of the pre-training best, earlier ones are more general.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "resnet18": MappingProxyType({"depths": (2, 3, 4), "pool": 2, "flip": True}),
    "resnet56": MappingProxyType({"depths": (1, 2, 3), "pool": 2, "flip": True}),
}


def write(path: Path, module: ResNet, header: dict[str, Any]) -> None:
    """Write a backbone file.

    `header` must have architecture, dataset, classes, size, mean and scale; it may have more.
    """
    modelfile.write(path, dict(module.state_dict()), {"kind": KIND, **header})


def read(path: Path, device: torch.device | str = "cpu") -> Backbone:
    """Read a backbone file, or a file of innate weights."""
    tensors, header = modelfile.read(path)
    if header.get("kind") == weights.KIND:
        return innate.read(path, header, device)
    if header.get("kind") != KIND:
        raise ModelFileError(f"{path} is a model, not a backbone; give a file that `if2net pretrain` has written.")
    try:
        return _network(path.name, tensors, header, device)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not hold a whole backbone ({error}). Use a backup copy.") from error


def _network(name: str, tensors: dict[str, Tensor], header: dict[str, Any], device: torch.device | str) -> Network:
    """Build the network. Nothing that the file asks for takes memory before its tensors are known to fit."""
    size, classes = header["size"], header["classes"]
    if type(size) is not int or not all(isinstance(one, str) for one in (header["dataset"], *classes)):
        raise ValueError("its header is wrong")
    preprocessing = Preprocessing(Framing(size, size), tuple(header["mean"]), tuple(header["scale"]))
    with torch.device("meta"):
        module = ResNet(header["architecture"], size)
    check(
        tensors, {name: TensorSpec(tuple(tensor.shape), tensor.dtype) for name, tensor in module.state_dict().items()}
    )
    module.load_state_dict(tensors, assign=True)
    return Network(
        name,
        module,
        preprocessing,
        taps=module.taps,
        defaults=DEFAULTS[header["architecture"]],
        structure="",
        pretrained_on=f"{len(classes)} classes of {header['dataset']}",
        seen_classes=tuple(classes),
        device=device,
    )
