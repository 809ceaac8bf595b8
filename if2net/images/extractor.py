"""Feature vectors from a backbone: which maps are taken, how they are pooled, with the mirror image or without."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from if2net.errors import ConfigurationError, IF2NetError, unknown
from if2net.images.backbones.base import Backbone, Preprocessing, unsuitable
from if2net.images.backbones.registry import FILES, NAMES, TIMM, load_backbone, split, values_of
from if2net.torch_modes import default_modes

# Part of every identity. Raise it when the same options come to mean other numbers.
VERSION = 1
LARGEST_POOL = 64


@dataclass(frozen=True)
class Options:
    """The features to take from a backbone, written after its name: `resnet18.if2,depths=2+3+4,pool=2,flip=yes`."""

    depths: tuple[int, ...] | None = None  # the maps, counted from 1, shallow to deep; None is the last one
    pool: int = 1  # each map is averaged to pool × pool
    flip: bool = False  # average the features of the image and of its mirror image
    size: int | None = None  # pixels per side of the input; None is the backbone's own
    beside: str | None = None  # another backbone, one of `registry.NAMES`, whose features follow

    def __post_init__(self) -> None:
        if not 1 <= self.pool <= LARGEST_POOL:
            raise ConfigurationError(f"The option pool of a backbone takes a number from 1 to {LARGEST_POOL}.")
        # Only these, because a model file holds the options and may come from anybody.
        if self.beside in (None, *NAMES):
            return
        if str(self.beside).startswith(TIMM) or str(self.beside).endswith(FILES):
            raise ConfigurationError(
                f"{self.beside} cannot be beside another backbone. A file or timm:NAME can only be the first "
                f"backbone; beside it can be one of {', '.join(NAMES)}."
            )
        raise unknown("backbone", str(self.beside), NAMES)

    @classmethod
    def parse(cls, words: list[str], defaults: dict[str, Any]) -> Options:
        """Read options from words such as "pool=2".

        >>> Options.parse(["depths=2+3", "flip=yes"], {"pool": 2})
        Options(depths=(2, 3), pool=2, flip=True, size=None, beside=None)
        """
        values = dict(defaults)
        for key, value in values_of(words).items():
            if key not in {field.name for field in fields(cls)}:
                raise unknown("option of a backbone", key, [field.name for field in fields(cls)])
            values[key] = _value(key, value)
        return cls(**values)


class Extractor:
    """A backbone with options. `identity` changes with everything that its numbers depend on.

    A backbone beside it has its own defaults, and gets the same pixels, scaled to its size. Its features are scaled
    so that both backbones have the same weight, whatever the numbers of their features.
    """

    def __init__(
        self, backbone: Backbone, options: Options | None = None, device: torch.device | str = "cpu"
    ) -> None:
        self.backbone = backbone
        self.options = options or Options(**backbone.defaults)
        self.device = torch.device(device)
        beside = self.options.beside
        self.beside = Extractor(load_backbone(beside, device), device=device) if beside else None
        self.width: int | None = None  # the number of features that a model expects
        self.depths = self.options.depths or (backbone.depths,)
        if not all(1 <= depth <= backbone.depths for depth in self.depths):
            raise ConfigurationError(
                f"{backbone.name} has depths 1 to {backbone.depths}, not {self.depths}; choose among these."
            )

    @property
    def preprocessing(self) -> Preprocessing:
        """The preprocessing of the backbone, for the size that the options ask for."""
        size = self.options.size
        return self.backbone.preprocessing.resized(size) if size else self.backbone.preprocessing

    @property
    def batch_size(self) -> int:
        """Images per batch. On a CPU, single images are slower, and large batches do not fit into a core's cache."""
        return self.backbone.batch_size or (4 if self.device.type == "cpu" else 128)

    @property
    def identity(self) -> str:
        """A digest of the network, the preprocessing and the options."""
        facts: dict[str, Any] = {
            "version": VERSION,
            "weights": self.backbone.fingerprint,
            "preprocessing": asdict(self.preprocessing),
            "options": asdict(replace(self.options, depths=self.depths)),
        }
        if self.beside is None:
            del facts["options"]["beside"]
        else:
            facts["options"]["beside"] = self.beside.identity
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def text(self) -> str:
        """The name of the backbone and the options that differ from its defaults, as `load_extractor` reads them."""
        options, defaults = (
            asdict(replace(one.options, depths=one.depths)) for one in (self, Extractor(self.backbone))
        )
        words = options | {"depths": "+".join(map(str, self.depths)), "flip": "yes" if self.options.flip else "no"}
        changed = [f"{name}={words[name]}" for name in options if options[name] != defaults[name]]
        return ",".join([self.backbone.name, *changed])

    @property
    def pretrained_on(self) -> str | None:
        """The data behind the weights of all its backbones."""
        parts = [one.backbone.pretrained_on for one in (self, self.beside) if one is not None]
        return "; ".join(part for part in parts if part is not None) or None

    def __call__(self, pixels: np.ndarray) -> np.ndarray:
        """Turn N×H×W×3 bytes into N×d features."""
        with default_modes(), torch.inference_mode():
            return self.features(torch.from_numpy(pixels).to(self.device)).cpu().numpy()

    def features(self, pixels: Tensor) -> Tensor:
        """Return the features of N×H×W×3 bytes on the device of the backbone."""
        images = self.preprocessing(pixels)
        features = self._pooled(images)
        if self.options.flip:
            features = (features + self._pooled(images.flip(3))) / 2
        if self.beside is not None:
            others = self.beside.features(self._for_beside(pixels))
            # Without this factor, the backbone with more features would count for more.
            others = others * (features.shape[1] / others.shape[1]) ** 0.5
            features = torch.cat([features, others], dim=1)
        if self.width not in (None, features.shape[1]):  # before all images have features of a wrong size
            raise ConfigurationError(
                f"The model takes {self.width:,} features, and {self.text} gives {features.shape[1]:,}; its file is "
                "wrong. Use a backup copy."
            )
        return features.float()

    def _for_beside(self, pixels: Tensor) -> Tensor:
        """Scale N×H×W×3 bytes to the size of the backbone beside."""
        assert self.beside is not None
        side = self.beside.preprocessing.framing.size
        if pixels.shape[1] == side:
            return pixels
        scaled = interpolate(pixels.permute(0, 3, 1, 2).float(), (side, side), mode="bilinear", antialias=True)
        return scaled.permute(0, 2, 3, 1)

    def _pooled(self, images: Tensor) -> Tensor:
        return torch.cat([self._vector(values, len(images)) for values in self._maps(images)], dim=1)

    def _maps(self, images: Tensor) -> list[Tensor]:
        try:
            return self.backbone.maps(images, self.depths)
        except (IF2NetError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # a foreign network raises any error for a shape that does not suit it
            raise unsuitable(self.backbone.name, images.shape[-1], error) from error

    def _vector(self, values: Tensor, count: int) -> Tensor:
        if values.ndim not in (2, 3, 4) or len(values) != count:
            raise ConfigurationError(
                f"{self.backbone.name} returns numbers of the shape {tuple(values.shape)} for {count} images; a map "
                "must be N×C×h×w, N×tokens×C or N×C. Choose another output of the network."
            )
        if not values.is_floating_point():
            values = values.float()
        if values.ndim == 4:
            return adaptive_avg_pool2d(values, self.options.pool).flatten(1)
        return values.mean(dim=1) if values.ndim == 3 else values  # the tokens of a transformer are averaged


def load_extractor(text: str, device: torch.device | str = "cpu") -> Extractor:
    """Load the extractor that NAME[,option=value]... describes, such as efficientnet-lite0,pool=2.

    >>> load_extractor("pixels,size=8").options.size
    8
    """
    name, words = split(text)
    backbone = load_backbone(name, device)
    return Extractor(backbone, Options.parse(words, dict(backbone.defaults)), device)


def _value(key: str, text: str) -> Any:
    if key == "beside":
        return text
    try:
        if key == "depths":
            return tuple(int(part) for part in text.split("+"))
        if key == "flip":
            return {"yes": True, "no": False}[text]
        if (number := int(text)) > 0:
            return number
    except (ValueError, KeyError):
        pass
    wanted = {"depths": "numbers such as 2+3+4", "flip": "yes or no"}.get(key, "a positive number")
    raise ConfigurationError(f"The option {key} of a backbone takes {wanted}, not {text!r}.")
