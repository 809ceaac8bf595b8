"""Loading a backbone by its name or file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch

from if2net.encoder import INNATE
from if2net.errors import ConfigurationError, check_once, unknown
from if2net.images.backbones import efficientnet, file, innate, timm
from if2net.images.backbones.base import Backbone
from if2net.images.backbones.onnx import OnnxBackbone
from if2net.images.backbones.pixels import Pixels

# The backbone of a new model for images.
DEFAULT = "efficientnet-lite0"
NAMES = (*efficientnet.SIZES, *INNATE, "pixels")
FILES = (".if2", ".onnx")
TIMM = "timm:"
BESIDE = "beside="  # the option that adds another backbone
OTHERS = "timm:NAME, a backbone file (.if2) or an ONNX file (.onnx)"


def split(text: str) -> tuple[str, list[str]]:
    """Split the text into name and options. A file name ends at its suffix, because folders may have commas.

    >>> split("birds, trees/resnet.if2,pool=2,flip=no")
    ('birds, trees/resnet.if2', ['pool=2', 'flip=no'])
    """
    parts = text.split(",")
    ends = [place for place, part in enumerate(parts) if part.endswith(FILES) and not part.startswith(BESIDE)]
    end = max(ends, default=0) + 1
    return ",".join(parts[:end]), parts[end:]


def values_of(words: Iterable[str]) -> dict[str, str]:
    """Return the value of each option, as text.

    >>> values_of(["pool=2", "flip=no"])
    {'pool': '2', 'flip': 'no'}
    """
    pairs = [word.partition("=")[::2] for word in words]
    check_once("backbone option", [name for name, _ in pairs])
    return dict(pairs)


def check_name(name: str, known: Iterable[str] = NAMES) -> None:
    """Raise an error, without loading anything, if a backbone has none of these names and is no other kind."""
    if name in known or name.startswith(TIMM) or name.endswith(FILES):
        return
    if name == "held-out":
        raise ConfigurationError(
            "held-out belongs to scenarios such as cifar100-60/10, which train it on the classes they leave out. "
            "Train a backbone with `if2net pretrain` and give its file, or choose another backbone."
        )
    raise ConfigurationError(f"{unknown('backbone', name, known)} Others: {OTHERS}.")


def load_backbone(name: str, device: torch.device | str = "cpu") -> Backbone:
    """Load one of `NAMES`, timm:NAME, or a file."""
    check_name(name)
    if name in efficientnet.SIZES:
        return efficientnet.load(name, device)
    if name in INNATE:
        return innate.shipped(name, device)
    if name == "pixels":
        return Pixels()
    if name.startswith(TIMM):
        return timm.load(name.removeprefix(TIMM), device)
    if name.endswith(".onnx"):
        return OnnxBackbone(Path(name))
    return file.read(Path(name), device)


def licence_of(text: str) -> str | None:
    """Return the licence of the weights of a backbone; None for the backbones that are part of if2net.

    >>> licence_of("pixels,beside=efficientnet-lite0")
    'Apache-2.0'
    """
    name, words = split(text)
    besides = [word.removeprefix(BESIDE) for word in words if word.startswith(BESIDE)][-1:]  # old files may have two
    licences = [_licence(one) for one in (name, *besides)]
    return "; ".join(dict.fromkeys(one for one in licences if one is not None)) or None


def _licence(name: str) -> str | None:
    if name in ("pixels", *INNATE):
        return None
    return efficientnet.LICENCE if name in efficientnet.SIZES else "that of their publisher"
