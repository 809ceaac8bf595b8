"""The backbone of a model, which its file remembers: the features of another one would mean nothing to it."""

from __future__ import annotations

from pathlib import Path

import torch

from if2net.errors import ConfigurationError, InputError
from if2net.images.backbones.registry import DEFAULT, FILES, split
from if2net.images.extractor import Extractor, load_extractor
from if2net.learner import IF2Net

# What a model keeps in `IF2Net.backbone`: how to load it again, and how to know it again.
Remembered = dict[str, str]


def extractor_for(
    net: IF2Net, asked: str | None = None, device: torch.device | str = "cpu"
) -> tuple[Extractor, Remembered]:
    """The extractor that a model has learned with, or the one asked for where it is new; and what to remember of it.

    A backbone that is a file may lie elsewhere by now: asking for it there is asking for the same one.
    """
    known = net.backbone
    if known is None and net.encoder is not None:
        raise InputError(
            "The model has learned from tables, so images mean nothing to it; give tables, or learn a new model."
        )
    text = _from_anywhere(asked or (known["text"] if known else DEFAULT))
    if known is not None and asked is None:
        _check_present(text)
    extractor = load_extractor(text, device)
    if known is not None and not _is_same(extractor, text, known):
        raise ConfigurationError(_differs(text, known["text"]))
    return extractor, {"text": text, "identity": extractor.identity}


def check_tables(net: IF2Net) -> None:
    """An error where the rows of a table would mean nothing to the model."""
    if net.backbone is not None:
        raise InputError(
            f"The model has learned from images, through the backbone {net.backbone['text']}, so tables mean nothing "
            "to it; give images, or learn a new model."
        )


def _from_anywhere(text: str) -> str:
    """The same backbone by a name that holds in every folder."""
    name, options = split(text)
    return ",".join([str(Path(name).resolve()), *options]) if name.endswith(FILES) else text


def _check_present(text: str) -> None:
    name, _ = split(text)
    if name.endswith(FILES) and not Path(name).is_file():
        raise ConfigurationError(
            f"The backbone {name}, which the model has learned with, is not there any more; "
            "say with --backbone where it is now."
        )


def _is_same(extractor: Extractor, text: str, known: Remembered) -> bool:
    """A former identity did not tell all networks apart, so there the name must be the same as well."""
    if known["identity"] == extractor.former_identity:
        return known["text"] == text
    return known["identity"] == extractor.identity


def _differs(text: str, known: str) -> str:
    if text == known:
        return (
            f"The backbone {text} is no longer the one that the model has learned with: its weights or its "
            "preprocessing have changed. Use the version it was made with, or learn a new model."
        )
    return (
        f"The model has learned with the backbone {known}, and {text} gives other features; leave --backbone out, "
        "or learn a new model."
    )
