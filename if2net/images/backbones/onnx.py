"""An ONNX file as a backbone; its outputs are the maps."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import torch
from torch import Tensor

from if2net.errors import ConfigurationError
from if2net.extras import require
from if2net.images.backbones.base import Backbone, Preprocessing
from if2net.images.read import Framing

IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class OnnxBackbone(Backbone):
    """A network with one input, N×3×H×H. Images are preprocessed as for ImageNet."""

    def __init__(self, path: Path) -> None:
        onnxruntime = require("onnxruntime", "onnx", "ONNX files need onnxruntime")
        if not path.is_file():
            raise ConfigurationError(f"There is no ONNX file at {path}; check the path.")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # `extraction` computes several images in parallel
        try:
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has many error classes of its own
            raise ConfigurationError(
                f"{path} cannot be used as an ONNX network ({error}); export it again."
            ) from error
        inputs = self._session.get_inputs()
        if [(one.type, _is_of_images(one.shape)) for one in inputs] != [("tensor(float)", True)]:
            actual = ", ".join(f"{one.type} {one.shape}" for one in inputs) or "none"
            raise ConfigurationError(
                f"{path} must have one input, N×3×H×H numbers of 32 bits, but its inputs are: {actual}. Export the "
                "network with such an input."
            )
        shape = inputs[0].shape
        self.path, self.name = path, path.name
        self.fingerprint = _fingerprint(path)
        self._outputs = [output.name for output in self._session.get_outputs()]
        self.depths = len(self._outputs)
        self.batch_size = shape[0] if isinstance(shape[0], int) else None
        size = next((side for side in shape[2:] if isinstance(side, int)), 224)
        framing = Framing(round(size * 8 / 7), size)
        self.preprocessing = Preprocessing.of_unit_range(framing, IMAGENET_MEAN, IMAGENET_DEVIATION)
        self._input = inputs[0].name

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        names = [self._outputs[depth - 1] for depth in depths]
        outputs = self._session.run(names, {self._input: images.contiguous().cpu().numpy()})
        return [torch.from_numpy(output).to(images.device) for output in outputs]


def _is_of_images(shape: list[int | str | None]) -> bool:
    """Return whether square colour images fit this shape; a dimension that is not a number may have any size."""
    if len(shape) != 4:
        return False
    _, channels, *sides = (side if isinstance(side, int) else None for side in shape)
    return channels in (None, 3) and (None in sides or sides[0] == sides[1])


def _fingerprint(path: Path) -> str:
    """Return a digest of the file and of the files beside it that hold its weights."""
    content = path.read_bytes()
    digest = hashlib.sha256(content)
    for name in _external_files(content):
        if os.path.isfile(path.parent / name):
            with open(path.parent / name, "rb") as file:
                digest.update(name.encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]


def _external_files(content: bytes) -> list[str]:
    """Return the names of the files that hold weights.

    In the protocol buffer, each name follows the key `location` and the length of the name, a varint: groups of seven
    bits, all but the last with the eighth bit set.
    """
    names = set()
    for match in re.finditer(rb"\n\x08location\x12([\x80-\xff]*[\x00-\x7f])", content):
        length = sum((byte & 127) << 7 * place for place, byte in enumerate(match[1]))
        names.add(content[match.end() : match.end() + length].decode(errors="ignore"))
    return sorted(names)
