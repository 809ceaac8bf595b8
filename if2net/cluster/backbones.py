"""The backbone of a cluster: what is asked for here comes to every worker, and is the same there."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from if2net.cluster.connection import imported_ray
from if2net.errors import ConfigurationError
from if2net.images.extractor import Extractor, load_extractor
from if2net.images.model_backbone import BackboneRecord, extractor_for
from if2net.learner import IF2Net

Load = Callable[[], Extractor]


@dataclass(frozen=True)
class Sight:
    """A backbone: loaded here, how a worker gets it, and what a model remembers of it."""

    extractor: Extractor
    load: Load
    remembered: BackboneRecord


def sight_for(net: IF2Net, backbone: str | Extractor | Sight | None, device: str) -> Sight:
    """The backbone asked for, or else the model's own; workers compute on the device."""
    if isinstance(backbone, Sight):
        return backbone
    if isinstance(backbone, Extractor):
        return _sent(net, backbone, device)
    extractor, remembered = extractor_for(net, backbone, net.config.torch_device)
    return Sight(extractor, partial(_loaded_there, remembered, device), remembered)


def _loaded_there(remembered: BackboneRecord, device: str) -> Extractor:
    """Where a worker is, the same name may stand for other weights."""
    extractor = load_extractor(remembered["text"], device)
    if extractor.identity != remembered["identity"]:
        raise ConfigurationError(
            f"The backbone {remembered['text']} on the machine {socket.gethostname()} differs from the one here; "
            "install the same one on every machine."
        )
    return extractor


def _sent(net: IF2Net, extractor: Extractor, device: str) -> Sight:
    """An extractor that travels to the workers as it is."""
    name, known = extractor.backbone.name, net.backbone
    if net.encoder is not None and (known is None or known["identity"] != extractor.identity):
        raise ConfigurationError(
            f"The model has not learned with {name}, so its features mean nothing to it; give the backbone that it "
            "has learned with, or learn a new model."
        )
    if extractor.device.type != "cpu" and device == "cpu":
        raise ConfigurationError(
            f"The extractor of {name} needs a GPU, and the workers have none; make one for a CPU."
        )
    return Sight(extractor, _carried(extractor), {"text": text_of(extractor), "identity": extractor.identity})


def _carried(extractor: Extractor) -> Load:
    ray = imported_ray()
    # What a thread has of its own stays with it; a worker begins anew.
    ray.util.register_serializer(
        threading.local, serializer=lambda own: None, deserializer=lambda nothing: threading.local()
    )
    try:
        return partial(ray.get, ray.put(extractor))
    except Exception as error:  # networks of others raise anything
        raise ConfigurationError(
            f"The backbone {extractor.backbone.name} cannot be sent to the workers; say it in words, such as "
            "backbone='network.onnx', so that every worker loads it by itself."
        ) from error
    finally:
        ray.util.deregister_serializer(threading.local)


def text_of(extractor: Extractor) -> str:
    """The name of the backbone, and the options that are not its own.

    >>> text_of(load_extractor("pixels,size=8,flip=yes"))
    'pixels,flip=yes,size=8'
    """
    usual = _options(Extractor(extractor.backbone))
    changed = {name: value for name, value in _options(extractor).items() if value != usual[name]}
    return ",".join([extractor.backbone.name, *(f"{name}={_word(value)}" for name, value in changed.items())])


def _options(extractor: Extractor) -> dict[str, Any]:
    return {**vars(extractor.options), "depths": extractor.depths}


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
