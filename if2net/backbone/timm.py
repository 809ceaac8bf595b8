"""Any model of timm by name, `timm:NAME`, with its own preprocessing; an extra."""

from __future__ import annotations

import torch

from if2net.backbone.base import Preprocessing
from if2net.backbone.network import Network
from if2net.data.images import Framing
from if2net.errors import ConfigurationError


def load(name: str, device: torch.device | str = "cpu", *, pretrained: bool = True) -> Network:
    """Its maps are those that timm itself names as features, and last its pooled output."""
    try:
        import timm
    except ImportError as error:
        raise ConfigurationError(
            "Models of timm are an extra; install it with `pip install 'if2net[backbones]'`."
        ) from error
    try:
        module = timm.create_model(name, pretrained=pretrained, num_classes=0)
    except Exception as error:  # no such model, no weights, no internet
        raise ConfigurationError(f"timm cannot give the model {name} ({error}).") from error
    facts = timm.data.resolve_model_data_config(module)
    size = facts["input_size"][-1]
    known = dict(module.named_modules())
    taps = [info["module"] for info in getattr(module, "feature_info", []) if info["module"] in known]
    return Network(
        f"timm:{name}",
        torch.nn.Sequential(module),
        Preprocessing.of_unit_range(Framing(round(size / facts["crop_pct"]), size), facts["mean"], facts["std"]),
        taps=(*(f"0.{tap}" for tap in taps), "0"),
        pretrained_on=(getattr(module, "pretrained_cfg", None) or {}).get("tag") or "the data timm names",
        device=device,
    )
