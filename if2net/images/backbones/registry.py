"""Loading a backbone by its name or file."""

from __future__ import annotations

from pathlib import Path

import torch

from if2net.encoder import INNATE
from if2net.errors import ConfigurationError, unknown
from if2net.images.backbones import efficientnet
from if2net.images.backbones.base import Backbone

# The backbone of a new model for images.
DEFAULT = "efficientnet-lite0"
NAMES = (*efficientnet.SIZES, *INNATE, "pixels")
FILES = (".if2", ".onnx")
OTHERS = "timm:NAME, a backbone file (.if2) or an ONNX file (.onnx)"


def split(text: str) -> tuple[str, list[str]]:
    """Split the text into name and options. A file name ends at its suffix, because folders may have commas.

    >>> split("birds, trees/resnet.if2,pool=2,flip=no")
    ('birds, trees/resnet.if2', ['pool=2', 'flip=no'])
    """
    parts = text.split(",")
    end = max((place for place, part in enumerate(parts) if part.endswith(FILES)), default=0) + 1
    return ",".join(parts[:end]), parts[end:]


def load_backbone(name: str, device: torch.device | str = "cpu") -> Backbone:
    """Load one of `NAMES`, timm:NAME, or a file. Heavy libraries are imported only where they are needed."""
    if name in efficientnet.SIZES:
        return efficientnet.load(name, device)
    if name in INNATE:
        from if2net.images.backbones import innate

        return innate.shipped(name, device)
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
    if name == "held-out":
        raise ConfigurationError(
            "held-out belongs to scenarios such as cifar100-60/10, which train it on the classes they leave out. "
            "Train a backbone with `if2net pretrain` and give its file, or choose another backbone."
        )
    error = unknown("backbone", name, NAMES)
    raise ConfigurationError(f"{error} Others: {OTHERS}.")


def licence_of(text: str) -> str | None:
    """Return the licence of the weights of a backbone; None for the backbones that are part of if2net.

    >>> licence_of("pixels,beside=efficientnet-lite0")
    'Apache-2.0'
    """
    name, words = split(text)
    besides = [word.removeprefix("beside=") for word in words if word.startswith("beside=")][-1:]  # as in Options
    licences = [_licence(one) for one in (name, *besides)]
    return "; ".join(dict.fromkeys(one for one in licences if one is not None)) or None


def _licence(name: str) -> str | None:
    if name in ("pixels", *INNATE):
        return None
    return efficientnet.LICENCE if name in efficientnet.SIZES else "that of their publisher"
