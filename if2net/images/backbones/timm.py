"""Any model of timm by its name, `timm:NAME`, with its own preprocessing."""

from __future__ import annotations

import torch

from if2net.errors import ConfigurationError
from if2net.extras import require
from if2net.images.backbones.base import Preprocessing
from if2net.images.backbones.network import Network
from if2net.images.read import Framing


def load(name: str, device: torch.device | str = "cpu", *, pretrained: bool = True) -> Network:
    """Load a model. Its maps are those that timm lists as features, then its pooled output."""
    timm = require("timm", "backbones", "Backbones of timm need the package timm")
    try:
        module = timm.create_model(name, pretrained=pretrained, num_classes=0)
    except Exception as error:  # no such model, no weights, no internet
        raise ConfigurationError(
            f"timm cannot load the model {name} ({error}); check its name and the internet connection."
        ) from error
    facts = timm.data.resolve_model_data_config(module)
    size = facts["input_size"][-1]
    known = dict(module.named_modules())
    taps = [info["module"] for info in getattr(module, "feature_info", []) if info["module"] in known]
    return Network(
        f"timm:{name}",
        torch.nn.Sequential(module),
        Preprocessing.of_unit_range(Framing(round(size / facts["crop_pct"]), size), facts["mean"], facts["std"]),
        taps=(*(f"0.{tap}" for tap in taps), "0"),
        structure=f"{name.partition('.')[0]} {taps}",  # the part after a dot names the weights
        pretrained_on=(getattr(module, "pretrained_cfg", None) or {}).get("tag") or "the data timm names",
        device=device,
    )
