"""Any torch module as a backbone; `taps` say where its maps are taken."""

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

# Numbers kept per map of the trial run, and their digits: few, because the last bits depend on the machine.
SUMS, DIGITS = 8, 2

Maps = dict[str, Any]  # tap → its output; None where it was not reached


class Network(Backbone):
    """A frozen copy of a torch module. `taps` are names of submodules, whose outputs are the maps.

    Without taps, the output of the module is the only map. The copy computes less, see `folded`. The fingerprint
    must also cover how the module uses its weights: `structure` describes it, and is empty where the names and shapes
    of the weights leave no choice. Without `structure`, a trial run describes it.
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
        for tap in taps:
            self._module.get_submodule(tap).register_forward_hook(_catch(tap, lambda: self._caught.maps))

    def maps(self, images: Tensor, depths: tuple[int, ...]) -> list[Tensor]:
        wanted = [self._taps[depth - 1] for depth in depths]
        self._caught.maps = dict.fromkeys(wanted)
        self._module(images)
        caught, self._caught.maps = self._caught.maps, {}
        return [caught[tap] for tap in wanted]


def _catch(tap: str, wanted: Callable[[], Maps]) -> Any:
    """Return a hook that stores the output of a tap if it is wanted."""

    def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
        if tap in wanted():
            # A copy, because later layers may work in place. If a submodule is used twice, the last output counts.
            wanted()[tap] = output.clone() if isinstance(output, Tensor) else output

    return hook


def folded(module: nn.Module, example: Tensor, taps: tuple[str, ...] = ("",)) -> nn.Module:
    """Return a frozen copy that computes the same maps faster, or a plain copy if that is not possible.

    Each batch norm is folded into the convolution before it, convolutions pad by themselves, and activations work in
    place.
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
    """Return the maps of one image of noise, or raise an error that says why there are none."""
    try:
        maps = _all_maps(_frozen(module), taps, _noise((1, 3, size, size)))
    except Exception as error:  # a foreign module raises any error
        raise unsuitable(name, size, error) from error
    for tap in taps:
        part = f"the submodule {tap!r} of {name}" if tap else name
        if maps[tap] is None:
            raise ConfigurationError(f"The forward pass does not reach {part}; choose another tap.")
        if not isinstance(maps[tap], Tensor):
            raise ConfigurationError(
                f"The output of {part} is a {type(maps[tap]).__name__}, not a tensor; choose another tap, or wrap "
                "the module in one that returns a tensor."
            )
    return maps


def _structure(module: nn.Module, maps: Maps) -> str:
    """Describe layers, taps and the maps of the trial run: with equal weights, other code gives other maps."""
    described = re.sub(r" at 0x[0-9a-f]+", "", repr(module))  # addresses in memory differ from run to run
    projected = {}
    for tap, values in maps.items():
        flat = values.flatten().float()
        products = _noise(flat.shape) * flat / flat.norm()
        sums = [f"{float(part.sum()):.{DIGITS}f}" for part in products.tensor_split(SUMS)]
        projected[tap] = (tuple(values.shape), sums)
    return f"{described} {projected}"


def _agree(plain: nn.Module, quick: nn.Module, taps: tuple[str, ...], probe: Tensor) -> bool:
    """Check that the quick copy gives the same maps.

    It need not: submodules may run in another order than they are registered in, a map that is overwritten may be
    used again, and a convolution may treat its padding in its own way.
    """
    expected = _all_maps(plain, taps, probe)
    try:
        actual = _all_maps(quick, taps, probe)
    except Exception:  # a foreign module raises any error for a shape that it does not expect
        return False
    return all(
        values.shape == actual[tap].shape
        and values.isfinite().all()
        and torch.allclose(values, actual[tap], rtol=1e-3, atol=1e-3 * float(values.abs().max()))
        for tap, values in expected.items()
    )


def _all_maps(module: nn.Module, taps: tuple[str, ...], images: Tensor) -> Maps:
    maps: Maps = dict.fromkeys(taps)
    hooks = [module.get_submodule(tap).register_forward_hook(_catch(tap, lambda: maps)) for tap in taps]
    with torch.inference_mode():
        module(images)
    for hook in hooks:
        hook.remove()
    return maps


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
    """Let a convolution with a padding layer of its own pad by itself, which saves a copy of the map.

    A convolution pads both sides equally. Where one side needs less, zeros are added to the kernel. On a CPU this is
    still faster for depthwise convolutions, where reading the map takes longer than the products.
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
