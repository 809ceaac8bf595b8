"""Any model of timm by name, `timm:NAME`, with its own preprocessing; an extra."""

from __future__ import annotations

import torch

from if2net.errors import ConfigurationError
from if2net.images.backbones.base import Preprocessing, fingerprint
from if2net.images.backbones.network import Network
from if2net.images.read import Framing


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
    whole = torch.nn.Sequential(module)
    network = Network(
        f"timm:{name}",
        whole,
        Preprocessing.of_unit_range(Framing(round(size / facts["crop_pct"]), size), facts["mean"], facts["std"]),
        taps=(*(f"0.{tap}" for tap in taps), "0"),
        structure=f"{name.partition('.')[0]} {taps}",  # what follows a dot says which weights
        pretrained_on=(getattr(module, "pretrained_cfg", None) or {}).get("tag") or "the data timm names",
        device=device,
    )
    network.former_fingerprint = fingerprint(whole.state_dict())
    return network
