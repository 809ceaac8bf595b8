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
        taps = taps or ("",)  # the name of the module itself
        known = dict(module.named_modules())
        if missing := [tap for tap in taps if tap not in known]:
            raise ConfigurationError(f"{name} has no submodule {missing[0]!r}; see its named_modules().")
        self.name, self.preprocessing = name, preprocessing
        self.fingerprint = fingerprint(module.state_dict())
        self.depths = len(taps)
        self.defaults = defaults or {}
        self.pretrained_on, self.seen_classes = pretrained_on, seen_classes
        size = preprocessing.framing.size
        self._module = folded(module, torch.zeros(1, 3, size, size, device=device), taps).to(device)
        self._module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._taps = taps
        self._caught = threading.local()
        submodules = dict(self._module.named_modules())
        for tap in taps:
            submodules[tap].register_forward_hook(self._catch(tap))

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        wanted = [self._taps[depth - 1] for depth in depths]
        self._caught.maps = dict.fromkeys(wanted)
        self._module(images)
        caught, self._caught.maps = self._caught.maps, {}
        return [caught[tap] for tap in wanted]

    def _catch(self, tap: str) -> Any:
        def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            if tap in self._caught.maps:
                # A copy, since what follows may work in place. Of a part that is used twice, the last output counts.
                self._caught.maps[tap] = output.clone()

        return hook


def folded(module: nn.Module, example: Tensor, taps: tuple[str, ...] = ("",)) -> nn.Module:
    """A frozen copy that is quicker on images like the example, where that computes the same: every batch norm is
    folded into the convolution before it, convolutions pad by themselves, and activations work in place.
    """
    plain = copy.deepcopy(module).eval().requires_grad_(False).cpu()
    quick = copy.deepcopy(plain)
    _fold_norms(quick)
    for part in list(quick.modules()):
        if isinstance(part, nn.Conv2d):
            _pad_inside(part, example.device)
        elif isinstance(part, nn.ReLU | nn.ReLU6 | nn.SiLU | nn.Hardswish):
            part.inplace = True
    probe = torch.randn(example.shape, generator=torch.Generator().manual_seed(0))
    return quick if _agree(plain, quick, taps, probe) else plain


def _agree(plain: nn.Module, quick: nn.Module, taps: tuple[str, ...], probe: Tensor) -> bool:
    """The order of registration need not be the order of computing, what is overwritten may be needed again, and what
    a convolution does with its padding is its own affair: a quick copy is believed only where all maps agree.
    """
    wanted = _all_maps(plain, taps, probe)
    try:
        found = _all_maps(quick, taps, probe)
    except Exception:  # modules of others raise anything where a shape is new to them
        return False
    return all(
        one.shape == other.shape and torch.allclose(one, other, rtol=1e-3, atol=1e-3 * float(one.abs().max()))
        for one, other in zip(wanted, found, strict=True)
    )


def _all_maps(module: nn.Module, taps: tuple[str, ...], images: Tensor) -> list[Tensor]:
    found: list[Tensor] = []
    hooks = [
        module.get_submodule(tap).register_forward_hook(lambda _module, _inputs, output: found.append(output.clone()))
        for tap in taps
    ]
    with torch.inference_mode():
        module(images)
    for hook in hooks:
        hook.remove()
    return found


def _fold_norms(module: nn.Module) -> None:
    leaves = [
        (parent, name, child)
        for parent in module.modules()
        for name, child in parent.named_children()
        if isinstance(child, nn.Conv2d | nn.BatchNorm2d)
    ]
    for (parent, name, first), (other, after, second) in itertools.pairwise(leaves):
        if not (isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d) and parent is other):
            continue
        if first.out_channels == second.num_features:
            setattr(parent, name, fuse_conv_bn_eval(first, second))
            setattr(other, after, nn.Identity())


def _pad_inside(convolution: nn.Conv2d, device: torch.device) -> None:
    """Let a convolution that has a padding layer of its own pad by itself, which spares a copy of the map.

    It pads both sides alike, so where one needs less, the kernel gets zeros. On a CPU that is still quicker if every
    channel has a kernel of its own: reading the map takes longer than the products.
    """
    for name, layer in convolution.named_children():
        if not isinstance(layer, nn.ZeroPad2d) or (*convolution.padding, *convolution.dilation) != (0, 0, 1, 1):
            continue
        left, right, top, bottom = layer.padding
        height, width = max(top, bottom), max(left, right)
        zeros = (width - left, width - right, height - top, height - bottom)
        if any(zeros) and (device.type != "cpu" or convolution.groups < convolution.in_channels):
            continue
        convolution.weight = nn.Parameter(nn.functional.pad(convolution.weight, zeros), requires_grad=False)
        convolution.padding = (height, width)
        setattr(convolution, name, nn.Identity())
