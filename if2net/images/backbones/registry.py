"""Backbones by name or by file."""

from __future__ import annotations

from pathlib import Path

import torch

from if2net.errors import ConfigurationError, unknown
from if2net.images.backbones import efficientnet
from if2net.images.backbones.base import Backbone

# The backbone of a model that learns pictures, where none is asked for.
DEFAULT = "efficientnet-lite0"
NAMES = (*efficientnet.SIZES, "pixels")
FILES = (".if2", ".onnx")
OTHERS = "timm:NAME, a file of `if2net pretrain` (.if2) or an ONNX file (.onnx)"


def split(text: str) -> tuple[str, list[str]]:
    """The name and the options. A file's name goes up to its ending, since folders may have commas in their names.

    >>> split("birds, trees/resnet.if2,pool=2,flip=no")
    ('birds, trees/resnet.if2', ['pool=2', 'flip=no'])
    """
    parts = text.split(",")
    end = max((place for place, part in enumerate(parts) if part.endswith(FILES)), default=0) + 1
    return ",".join(parts[:end]), parts[end:]


def load_backbone(name: str, device: torch.device | str = "cpu") -> Backbone:
    """One of `NAMES`, timm:NAME, or a file. What is heavy is imported only when it is asked for."""
    if name in efficientnet.SIZES:
        return efficientnet.load(name, device)
    if name == "pixels":
        from if2net.images.backbones.pixels import Pixels

        return Pixels()
    if name.startswith("timm:"):
        from if2net.images.backbones import timm

        return timm.load(name.removeprefix("timm:"), device)
    if name.endswith(".onnx"):
        from if2net.images.backbones.onnx import OnnxBackbone

        return OnnxBackbone(Path(name))
    if name.endswith(".if2"):
        from if2net.images.backbones import file

        return file.read(Path(name), device)
    error = unknown("backbone", name, NAMES)
    raise ConfigurationError(f"{error} Others: {OTHERS}.")
