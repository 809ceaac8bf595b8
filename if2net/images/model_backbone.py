"""The backbone that a model file names. The features of any other one would mean nothing to the model.

A model file may come from anybody, so it can only name the backbones of if2net itself. Others may run foreign code,
download weights or read any file: the user has to name them.
"""

from __future__ import annotations

from pathlib import Path

import torch

from if2net.encoder import INNATE
from if2net.errors import ConfigurationError, InputError
from if2net.images.backbones.registry import DEFAULT, FILES, NAMES, check_name, split
from if2net.images.extractor import Extractor, load_extractor
from if2net.learner import IF2Net

# `IF2Net.backbone`: the `text` to load the backbone again, and the `identity` to check that it is the same one.
BackboneRecord = dict[str, str]
_named_by_the_user: set[str] = set()  # in this process


def extractor_for(
    net: IF2Net | None, backbone: str | Extractor | None = None, device: torch.device | str = "cpu"
) -> tuple[Extractor, BackboneRecord]:
    """Return the extractor that a model learns with, and the record that the model keeps of it.

    A model that has learned images accepts its own backbone only; `backbone` must name it once per process, unless it
    is one of `registry.NAMES`. A new model takes `backbone`, or the default one. An extractor is taken as it is.
    """
    check_backbone(net, backbone)
    record = net.backbone if net is not None else None
    if isinstance(backbone, Extractor):
        extractor, text = backbone, backbone.text
    else:
        text = _text(record, backbone)
        if backbone is not None:
            _named_by_the_user.add(text)
        extractor = load_extractor(text, device)
    if record is not None and record["identity"] != extractor.identity:
        raise ConfigurationError(_difference(text, record["text"]))
    if net is not None and net.encoder is not None:
        extractor.width = net.encoder.inputs
    return extractor, {"text": text, "identity": extractor.identity}


def check_backbone(net: IF2Net | None, backbone: str | Extractor | None = None) -> None:
    """Raise an error if the model has learned from tables or, as the name alone shows, with another backbone."""
    record = net.backbone if net is not None else None
    if record is None and net is not None and net.encoder is not None:
        raise InputError(
            "The model has learned from tables, so it cannot learn or predict images; give tables, or learn a new "
            "model."
        )
    if net is not None and net.encoder is None and (net.config.encoder in INNATE or net.config.image_shape):
        raise ConfigurationError(
            "An innate encoder takes pictures, and a backbone returns features instead. Leave out the encoder and "
            "image_shape; the backbones innate and innate-large have the same networks."
        )
    if isinstance(backbone, Extractor):
        return
    if not isinstance(backbone, str | None):
        raise ConfigurationError(f"The backbone must be a string such as {DEFAULT!r}, not {backbone!r:.100}.")
    text = _text(record, backbone)
    name, _ = split(text)
    if backbone is None:
        if name not in NAMES and text not in _named_by_the_user:
            raise ConfigurationError(
                f"The model has learned with the backbone {text}, which is not part of if2net. If you trust it, give "
                "it as the backbone; if it is a file that was moved, give its new path."
            )
        return
    check_name(name)
    known, _ = split(record["text"]) if record is not None else (name, [])
    if record is not None and name != known and {name, known} <= set(NAMES):  # files can be copies of each other
        raise ConfigurationError(_difference(text, record["text"]))


def check_tables(net: IF2Net) -> None:
    """Raise an error if the model has learned from images, so it cannot learn or predict tables."""
    if net.backbone is not None:
        raise InputError(
            f"The model has learned from images, through the backbone {net.backbone['text']}, so it cannot learn "
            "or predict tables; give images, or learn a new model."
        )


def _text(record: BackboneRecord | None, backbone: str | None) -> str:
    """Return the text of a backbone, with the absolute path of a file; that of the model or the default for None."""
    if backbone is None:
        return record["text"] if record else DEFAULT
    name, options = split(backbone)
    return ",".join([str(Path(name).resolve()), *options]) if name.endswith(FILES) else backbone


def _difference(text: str, known: str) -> str:
    if text == known:
        return (
            f"The backbone {text} is no longer the one that the model has learned with: its weights or its "
            "preprocessing have changed. Use the former version, or learn a new model."
        )
    return (
        f"The model has learned with the backbone {known}, and {text} gives other features; leave the backbone out, "
        "or learn a new model."
    )
