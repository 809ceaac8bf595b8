"""An ONNX file as a backbone: its outputs are the maps."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from torch import Tensor

from if2net.backbone.base import Backbone, Preprocessing
from if2net.data.images import Framing
from if2net.errors import ConfigurationError

IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class OnnxBackbone(Backbone):
    """A network with one input, N×3×H×W. Without `preprocessing` it gets images as ImageNet's networks do."""

    def __init__(self, path: Path, preprocessing: Preprocessing | None = None) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise ConfigurationError(
                "ONNX files need onnxruntime; install it with `pip install 'if2net[onnx]'`."
            ) from error
        if not path.is_file():
            raise ConfigurationError(f"There is no ONNX file at {path}; check the path.")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # images are worked on side by side, see `extraction`
        try:
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime's own kinds, all of which mean this
            raise ConfigurationError(f"{path} cannot be used as an ONNX network ({error}).") from error
        inputs = self._session.get_inputs()
        shape = inputs[0].shape
        if len(inputs) != 1 or len(shape) != 4 or (isinstance(shape[1], int) and shape[1] != 3):
            raise ConfigurationError(f"{path} must have one input of N×3×H×W, but its first one is {shape}.")
        self.name = path.name
        self.fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:32]
        self._outputs = [output.name for output in self._session.get_outputs()]
        self.depths = len(self._outputs)
        self.batch_size = shape[0] if isinstance(shape[0], int) else None
        size = shape[2] if isinstance(shape[2], int) else 224
        self.preprocessing = preprocessing or Preprocessing.of_unit_range(
            Framing(round(size * 8 / 7), size), IMAGENET_MEAN, IMAGENET_DEVIATION
        )
        self._input = inputs[0].name

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        names = [self._outputs[depth - 1] for depth in depths]
        outputs = self._session.run(names, {self._input: images.contiguous().cpu().numpy()})
        return [torch.from_numpy(output).to(images.device) for output in outputs]
