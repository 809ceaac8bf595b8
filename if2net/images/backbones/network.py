"""Any torch module as a backbone: its maps are taken where `taps` say."""

from __future__ import annotations

import copy
import itertools
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from if2net.errors import ConfigurationError
from if2net.images.backbones.base import Backbone, Preprocessing, fingerprint, unsuitable

# Numbers that are kept of a map in a trial, and their digits: few, since the last bits depend on the machine.
SUMS, DIGITS = 8, 2

Maps = dict[str, Any]  # tap → what it puts out; None where it was not reached


class Network(Backbone):
    """A frozen copy of a torch module. `taps` are names of submodules, whose outputs are the maps.

    Without taps the module's own output is the only map. The copy has less to compute, see `folded`. How the module
    uses its weights is found out by a trial, unless `structure` says it; nothing is to be said where the names and
    shapes of the weights leave no choice.
    """

    def __init__(
        self,
        name: str,
        module: nn.Module,
        preprocessing: Preprocessing,
        taps: tuple[str, ...] = (),
        *,
        structure: str | None = None,
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
        size = preprocessing.framing.size
        maps = _trial(name, module, taps, size)
        self.fingerprint = fingerprint(
            module.state_dict(), _structure(module, maps) if structure is None else structure
        )
        self.depths = len(taps)
        self.defaults = defaults or {}
        self.pretrained_on, self.seen_classes = pretrained_on, seen_classes
        self._module = folded(module, torch.zeros(1, 3, size, size, device=device), taps).to(device)
        self._module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._taps = taps
        self._caught = threading.local()
        submodules = dict(self._module.named_modules())
        for tap in taps:
            submodules[tap].register_forward_hook(_catch(tap, lambda: self._caught.maps))

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        wanted = [self._taps[depth - 1] for depth in depths]
        self._caught.maps = dict.fromkeys(wanted)
        self._module(images)
        caught, self._caught.maps = self._caught.maps, {}
        return [caught[tap] for tap in wanted]


def _catch(tap: str, wanted: Callable[[], Maps]) -> Any:
    """A hook that puts the output where it is wanted."""

    def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
        if tap in wanted():
            # A copy, since what follows may work in place. Of a part that is used twice, the last output counts.
            wanted()[tap] = output.clone() if isinstance(output, Tensor) else output

    return hook


def folded(module: nn.Module, example: Tensor, taps: tuple[str, ...] = ("",)) -> nn.Module:
    """A frozen copy that is quicker on images like the example, where that computes the same: every batch norm is
    folded into the convolution before it, convolutions pad by themselves, and activations work in place.
    """
    plain = _frozen(module)
    quick = copy.deepcopy(plain)
    _fold_norms(quick)
    for part in list(quick.modules()):
        if isinstance(part, nn.Conv2d):
            _pad_inside(part, example.device)
        elif isinstance(part, nn.ReLU | nn.ReLU6 | nn.SiLU | nn.Hardswish):
            part.inplace = True
    return quick if _agree(plain, quick, taps, _noise(example.shape)) else plain


def _frozen(module: nn.Module) -> nn.Module:
    return copy.deepcopy(module).eval().requires_grad_(False).cpu()


def _noise(shape: Sequence[int]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _trial(name: str, module: nn.Module, taps: tuple[str, ...], size: int) -> Maps:
    """The maps of one image that is noise, or a sentence that says why there are none."""
    try:
        found = _all_maps(_frozen(module), taps, _noise((1, 3, size, size)))
    except Exception as error:  # modules of others raise anything
        raise unsuitable(name, size, error) from error
    for tap in taps:
        part = f"the submodule {tap!r} of {name}" if tap else name
        if found[tap] is None:
            raise ConfigurationError(f"Nothing comes out of {part}; choose a tap that its forward goes through.")
        if not isinstance(found[tap], Tensor):
            raise ConfigurationError(
                f"A {type(found[tap]).__name__} comes out of {part} and not a tensor; choose another tap, or wrap "
                "the module in one that returns a tensor."
            )
    return found


def _structure(module: nn.Module, maps: Maps) -> str:
    """In words and numbers: equal weights give other maps with other layers, other code around them or other taps."""
    described = re.sub(r" at 0x[0-9a-f]+", "", repr(module))  # where something lies in memory says nothing
    projected = {}
    for tap, values in maps.items():
        flat = values.flatten().float()
        products = _noise(flat.shape) * flat / flat.norm()
        sums = [f"{float(part.sum()):.{DIGITS}f}" for part in products.tensor_split(SUMS)]
        projected[tap] = (tuple(values.shape), sums)
    return f"{described} {projected}"


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
        one.shape == found[tap].shape
        and one.isfinite().all()
        and torch.allclose(one, found[tap], rtol=1e-3, atol=1e-3 * float(one.abs().max()))
        for tap, one in wanted.items()
    )


def _all_maps(module: nn.Module, taps: tuple[str, ...], images: Tensor) -> Maps:
    found: Maps = dict.fromkeys(taps)
    hooks = [module.get_submodule(tap).register_forward_hook(_catch(tap, lambda: found)) for tap in taps]
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
