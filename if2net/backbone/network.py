"""Any torch module as a backbone: its maps are taken where `taps` say."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from if2net.backbone.base import Backbone, Preprocessing, fingerprint
from if2net.errors import ConfigurationError


class Network(Backbone):
    """A frozen copy of a torch module. `taps` are names of submodules, whose outputs are the maps.

    Without taps the module's own output is the only map. The copy has less to compute, see `folded`.
    """

    def __init__(
        self,
        name: str,
        module: nn.Module,
        preprocessing: Preprocessing,
        taps: tuple[str, ...] = (),
        *,
        defaults: Mapping[str, Any] | None = None,
        pretrained_on: str | None = None,
        seen_classes: tuple[str, ...] = (),
        device: torch.device | str = "cpu",
    ) -> None:
        known = dict(module.named_modules())
        if missing := [tap for tap in taps if tap not in known]:
            raise ConfigurationError(f"{name} has no submodule {missing[0]!r}; see its named_modules().")
        self.name, self.preprocessing = name, preprocessing
        self.fingerprint = fingerprint(module.state_dict())
        self.depths = max(1, len(taps))
        self.defaults = defaults or {}
        self.pretrained_on, self.seen_classes = pretrained_on, seen_classes
        size = preprocessing.framing.size
        self._module = folded(module, torch.zeros(1, 3, size, size)).to(device)
        self._module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._taps = taps
        self._caught = threading.local()
        submodules = dict(self._module.named_modules())
        for tap in taps:
            submodules[tap].register_forward_hook(self._catch(tap))

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        wanted = [self._taps[depth - 1] for depth in depths] if self._taps else []
        self._caught.maps = dict.fromkeys(wanted)
        output = self._module(images)
        caught, self._caught.maps = self._caught.maps, {}
        return [caught[tap] for tap in wanted] if self._taps else [output]

    def _catch(self, tap: str) -> Any:
        def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            if tap in self._caught.maps:
                # A copy, since what follows may work in place. Of a part that is used twice, the last output counts.
                self._caught.maps[tap] = output.clone()

        return hook


def folded(module: nn.Module, example: Tensor) -> nn.Module:
    """A frozen copy that is quicker: every batch norm is folded into the convolution before it, and activations work
    in place. It is used only if it computes the same.
    """
    plain = copy.deepcopy(module).eval().requires_grad_(False).cpu()
    quick = copy.deepcopy(plain)
    leaves = [
        (parent, name, child)
        for parent in quick.modules()
        for name, child in parent.named_children()
        if isinstance(child, nn.Conv2d | nn.BatchNorm2d)
    ]
    for (parent, name, first), (other, after, second) in itertools.pairwise(leaves):
        if not (isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d) and parent is other):
            continue
        if first.out_channels == second.num_features:
            setattr(parent, name, fuse_conv_bn_eval(first, second))
            setattr(other, after, nn.Identity())
    for part in quick.modules():
        if isinstance(part, nn.ReLU | nn.ReLU6 | nn.SiLU | nn.Hardswish):
            part.inplace = True
    # The order of registration need not be the order of computing, and what is overwritten may be needed again:
    # believe it only where the outputs agree.
    probe = torch.randn(example.shape, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        wanted, found = plain(probe), quick(probe)
    return quick if torch.allclose(wanted, found, rtol=1e-3, atol=1e-3 * float(wanted.abs().max())) else plain
