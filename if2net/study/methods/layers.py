"""A layer as one matrix [W|b] that acts on rows [x, 1], for the methods that treat gradients layer by layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.study.methods.network import Network


def layers(network: Network) -> list[nn.Linear]:
    return [module for module in network.modules() if isinstance(module, nn.Linear)]


def joined(weight: Tensor, bias: Tensor) -> Tensor:
    """[W|b]; leading dimensions are kept."""
    return torch.cat([weight, bias.unsqueeze(-1)], dim=-1)


def gradient(layer: nn.Linear) -> Tensor:
    """The gradient of [W|b]."""
    return joined(*_gradients(layer))


def set_gradient(layer: nn.Linear, new: Tensor) -> None:
    weight, bias = _gradients(layer)
    weight.copy_(new[:, :-1])
    bias.copy_(new[:, -1])


def _gradients(layer: nn.Linear) -> tuple[Tensor, Tensor]:
    weight, bias = layer.weight.grad, layer.bias.grad
    assert weight is not None
    assert bias is not None
    return weight, bias


def recorded(network: Network, X: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """What each layer was given and what it gave; what the last one gave are the logits."""
    given, gave = [X], []
    for layer in network.hidden:
        gave.append(layer(given[-1]))
        given.append(torch.relu(gave[-1]))
    return given, [*gave, network.head(given[-1])]


def with_ones(inputs: list[Tensor]) -> list[Tensor]:
    """The rows [x, 1] that enter each layer."""
    return [F.pad(rows.detach(), (0, 1), value=1.0) for rows in inputs]
