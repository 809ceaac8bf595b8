"""A layer as one matrix [W|b] that acts on rows [x, 1], for the methods that treat gradients layer by layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.methods.network import Network


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


def traced(network: Network, X: Tensor) -> tuple[list[Tensor], Tensor]:
    """The rows [x, 1] that enter each layer, and the logits."""
    inputs = []
    for layer in network.hidden:
        inputs.append(X)
        X = torch.relu(layer(X))
    inputs.append(X)
    return [F.pad(rows.detach(), (0, 1), value=1.0) for rows in inputs], network.head(X)
