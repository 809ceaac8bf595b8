"""One ONNX graph from samples to classes: backbone, encoder, β, temperature and labels."""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from if2net.classifier import Model, learner_of
from if2net.encoder import Encoder, InnateEncoder
from if2net.encoder.innate.weights import shipped
from if2net.errors import ConfigurationError
from if2net.extras import require
from if2net.files import replacing
from if2net.images.backbones.base import Backbone
from if2net.images.backbones.onnx import OnnxBackbone
from if2net.images.extractor import Extractor
from if2net.images.model_backbone import extractor_for
from if2net.learner import IF2Net
from if2net.torch_modes import in_default_modes
from if2net.version import __version__

# An old version, which all runtimes in use can read.
OPSET = 17
OUTPUTS = ["label", "probabilities", "scores"]
# The name of the function in the graph that holds the nodes of an ONNX file.
DOMAIN, FUNCTION = "if2net", "Backbone"


@in_default_modes
def to_onnx(model: Model, path: str | os.PathLike[str], *, backbone: str | Extractor | None = None) -> None:
    """Write a model as one ONNX graph, which needs neither if2net nor torch to predict.

    It uses opset 17, or that of the backbone where this is an ONNX file.

    The input `X` has any number of samples: rows of features; pictures of N×H×W×C for the innate encoders; for a
    model of image files, N×H×W×3 bytes in the size of its backbone. The outputs are `label` (text, whole numbers,
    numbers or truth values), `probabilities` and `scores`, whose columns are in the order of the sorted classes. The
    metadata of the file have the classes, the features, the preprocessing and the version of if2net. The graph does
    not check its input.

    Parameters
    ----------
    model : IF2NetClassifier or IF2Net
        A model that has learned something.
    path : path-like
        The file, such as ``birds.onnx``.
    backbone : str, optional
        The model's backbone, as in `learn_images`.

    Examples
    --------
    >>> import tempfile
    >>> import onnxruntime
    >>> from if2net import IF2NetClassifier
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> path = tempfile.mkdtemp() + "/digits.onnx"
    >>> to_onnx(IF2NetClassifier(width=100, device="cpu", random_state=0).fit(X, y), path)
    >>> session = onnxruntime.InferenceSession(path)
    >>> labels, probabilities, scores = session.run(None, {"X": X[:3].astype("float32")})
    >>> labels.tolist(), probabilities.shape
    ([0, 1, 2], (3, 10))
    """
    onnx = require("onnx", "onnx", "Exporting to ONNX needs the package onnx")
    net = learner_of(model).predictor("cpu")
    extractor = extractor_for(net, backbone)[0] if net.backbone is not None else None
    functions, opset = [], OPSET
    if extractor is not None and isinstance(extractor.backbone, OnnxBackbone):
        functions = [_function(onnx, extractor.backbone, extractor.depths)]
        opset = next(one.version for one in functions[0].opset_import if one.domain in ("", "ai.onnx"))
        extractor = Extractor(_Called(extractor.backbone), extractor.options)
    graph = _Graph(net, extractor)
    content = onnx.load_from_string(_traced(graph, opset))
    content.functions.extend(functions)
    _name_classes(onnx, content.graph, net.classes)
    content.producer_name, content.producer_version = "if2net", __version__
    onnx.helper.set_model_props(content, graph.facts())
    onnx.checker.check_model(content)
    with replacing(path) as temporary:
        temporary.write_bytes(content.SerializeToString())


class _Graph(nn.Module):
    """From samples to the place of the winner among the sorted classes, probabilities and scores."""

    def __init__(self, net: IF2Net, extractor: Extractor | None) -> None:
        super().__init__()
        assert net.encoder is not None
        self.net, self.encoder, self.extractor = net, net.encoder, extractor
        # Registered, so that a network for an image and its mirror image is stored once.
        extractors = [one for one in (extractor, extractor and extractor.beside) if one is not None]
        parts: list[Backbone | Encoder] = [one.backbone for one in extractors] or [net.encoder]
        self.networks = nn.ModuleList(network for part in parts for network in _networks(part))
        solution = net._solution(temperature=True)
        assert solution.temperature is not None
        self.times_beta, self.temperature = solution.times_beta, solution.temperature
        self.encode = self.encoder.encoding(net._tweak_for(self.example(), None, False))

    def example(self) -> Tensor:
        """Return two samples. With a single one, the tracer would make the number of samples a constant."""
        if self.extractor is not None:
            side = self.extractor.preprocessing.framing.size
            return torch.zeros(2, side, side, 3, dtype=torch.uint8)
        shape = self.encoder.config.shape if isinstance(self.encoder, InnateEncoder) else (self.encoder.inputs,)
        return torch.zeros(2, *shape, dtype=self.net.config.torch_dtype)

    def forward(self, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = X.flatten(1) if self.extractor is None else self.extractor.features(X).to(self.net.config.torch_dtype)
        scores = self.times_beta(self.encode(rows))
        return scores.argmax(dim=1), torch.softmax(scores / self.temperature, dim=1), scores

    def facts(self) -> dict[str, str]:
        """Return the metadata of the file."""
        facts: dict[str, Any] = {
            "classes": self.net.classes.tolist(),
            "samples": self.net.samples,
            "encoder": self.net.config.encoder,
            "feature_names": self.net.feature_names,
        }
        if self.extractor is not None:
            framing = self.extractor.preprocessing.framing
            facts |= {
                "backbone": self.extractor.text,
                "preprocessing": f"Scale the shorter side of an image to {framing.side} pixels (bicubic), keep the "
                f"middle {framing.size}×{framing.size} pixels, and give RGB bytes.",
            }
        elif isinstance(self.encoder, InnateEncoder):
            assert self.encoder.full is not None
            facts["preprocessing"] = f"Give pixels with values from 0 to {float(self.encoder.full):g}."
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in facts.items()}


def _networks(part: Backbone | Encoder) -> list[nn.Module]:
    """Return the networks of a backbone or an encoder."""
    if isinstance(part, InnateEncoder):
        return [shipped(part.config.size, torch.device("cpu"))]
    return [value for value in vars(part).values() if isinstance(value, nn.Module)]


def _traced(graph: _Graph, opset: int) -> bytes:
    """Return the graph in ONNX's format. torch's older exporter writes it; the newer one needs another package."""
    file: Any = io.BytesIO()
    example = graph.example()
    with _Exportable(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecation, and that the sizes of maps become constants
        graph(example)  # fills the cache of `_matrix`; while it is traced, these steps would enter the graph
        try:
            torch.onnx.export(
                graph,
                (example,),
                file,
                dynamo=False,
                opset_version=opset,
                input_names=["X"],
                output_names=OUTPUTS,
                dynamic_axes={name: {0: "N"} for name in ("X", *OUTPUTS)},
            )
        except Exception as error:  # the exporter and foreign networks raise any error
            reason = str(error).partition("\n")[0].rstrip(".")
            raise ConfigurationError(
                f"The model cannot be written as an ONNX graph ({reason}); choose a backbone that is part of if2net."
            ) from error
    return file.getvalue()


class _Exportable(TorchFunctionMode):
    """Replace functions that the exporter cannot write. Pooling and resizing become two products, one per axis."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is Tensor.split and len(args) == 2:  # of samples: the number of parts would become a constant
            return args[:1]
        if function is F.adaptive_avg_pool2d and args[1] not in (1, (1, 1)):
            sizes = args[1] if isinstance(args[1], tuple) else (args[1],) * 2
            return _along_axes(args[0], sizes, F.adaptive_avg_pool2d)
        if function is F.interpolate and kwargs["antialias"]:
            return _along_axes(args[0], kwargs["size"], _resized)
        return function(*args, **kwargs)


def _resized(pictures: Tensor, sizes: tuple[int, int]) -> Tensor:
    return F.interpolate(pictures, sizes, mode="bilinear", antialias=True)


def _along_axes(
    maps: Tensor, sizes: tuple[int, int], function: Callable[[Tensor, tuple[int, int]], Tensor]
) -> Tensor:
    rows, columns = (
        _matrix(function, int(side), size).to(maps.dtype) for side, size in zip(maps.shape[2:], sizes, strict=True)
    )
    return rows @ maps @ columns.T


@cache
def _matrix(function: Callable[[Tensor, tuple[int, int]], Tensor], side: int, size: int) -> Tensor:
    """Return the matrix, size × side, by which a function of maps changes the length of one axis."""
    return function(torch.eye(side, dtype=torch.float32)[None, None], (size, side))[0, 0]


def _name_classes(onnx: Any, graph: Any, classes: np.ndarray) -> None:
    """Make the first output the labels of the classes instead of their places."""
    kinds = {"U": "STRING", "i": "INT64", "f": "DOUBLE", "b": "BOOL"}
    kind = getattr(onnx.TensorProto, kinds[classes.dtype.kind])
    values = [name.encode(errors="replace") if isinstance(name, str) else name for name in classes.tolist()]
    graph.initializer.append(onnx.helper.make_tensor("classes", kind, [len(values)], values))
    for node in graph.node:
        node.output[:] = ["place" if name == OUTPUTS[0] else name for name in node.output]
    graph.node.append(onnx.helper.make_node("Gather", ["classes", "place"], OUTPUTS[:1]))
    graph.output[0].type.tensor_type.elem_type = kind


class _Called(Backbone):
    """An ONNX file as a backbone that becomes a call of the function `_function` in the graph."""

    def __init__(self, backbone: OnnxBackbone) -> None:
        vars(self).update(vars(backbone))
        self.backbone = backbone

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        maps = _Call.apply(images, self.backbone, depths)  # type: ignore[no-untyped-call]
        return [maps] if isinstance(maps, Tensor) else list(maps)


class _Call(torch.autograd.Function):
    """A call of an ONNX file, here and in the graph."""

    @staticmethod
    def forward(context: Any, images: Tensor, backbone: OnnxBackbone, depths: tuple[int, ...]) -> Any:
        maps = backbone.maps(images, depths)
        return tuple(maps) if len(maps) > 1 else maps[0]

    @staticmethod
    def symbolic(graph: Any, images: Any, backbone: OnnxBackbone, depths: tuple[int, ...]) -> Any:
        return graph.op(f"{DOMAIN}::{FUNCTION}", images, outputs=len(depths))


def _function(onnx: Any, backbone: OnnxBackbone, depths: tuple[int, ...]) -> Any:
    """Return the graph of an ONNX file as a function, with its weights as constants."""
    content = onnx.load(backbone.path)
    graph, weights = content.graph, content.graph.initializer
    if backbone.batch_size is not None:
        raise ConfigurationError(
            f"{backbone.name} takes {backbone.batch_size} images at a time, and a graph must take any number; export "
            "the network with a free batch dimension."
        )
    constants = [onnx.helper.make_node("Constant", [], [one.name], value=one) for one in weights]
    inputs = [one.name for one in graph.input if one.name not in {weight.name for weight in weights}]
    outputs = [graph.output[depth - 1].name for depth in depths]
    nodes = [*constants, *graph.node]
    return onnx.helper.make_function(DOMAIN, FUNCTION, inputs, outputs, nodes, content.opset_import)
