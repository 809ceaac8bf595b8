"""The network of the compared methods, and access to it layer by layer."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Network(nn.Module):
    """A multilayer perceptron with one head. The head gains rows as new classes appear."""

    def __init__(self, inputs: int, classes: int, hidden: int, depth: int, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator
        widths = [inputs, *[hidden] * depth]
        self.hidden = nn.ModuleList(self._linear(a, b) for a, b in itertools.pairwise(widths))
        self.head = self._linear(widths[-1], classes)

    @property
    def classes(self) -> int:
        return self.head.out_features

    def is_finite(self) -> bool:
        """Whether all parameters are finite; they are not after a training that diverged."""
        return all(bool(parameter.isfinite().all()) for parameter in self.parameters())

    def features(self, X: Tensor) -> Tensor:
        for layer in self.hidden:
            X = torch.relu(layer(X))
        return X

    def forward(self, X: Tensor) -> Tensor:
        return self.head(self.features(X))

    def grow(self, classes: int) -> None:
        """Add head rows for new classes. The existing rows do not change."""
        if classes <= self.classes:
            return
        old, grown = self.head, self._linear(self.head.in_features, classes).to(self.head.weight.device)
        with torch.no_grad():
            grown.weight[: old.out_features] = old.weight
            grown.bias[: old.out_features] = old.bias
        self.head = grown

    def _linear(self, inputs: int, outputs: int) -> nn.Linear:
        layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
        bound = 1 / max(inputs, 1) ** 0.5
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.uniform_(-bound, bound, generator=self.generator)
        return layer


# Layer by layer. A layer counts as one matrix [W|b] that acts on rows [x, 1].

Weights = list[tuple[Tensor, Tensor]]  # W and b of each layer


def linear_layers(network: Network) -> list[nn.Linear]:
    return [module for module in network.modules() if isinstance(module, nn.Linear)]


def layer_weights(network: Network) -> Weights:
    layers = (*network.hidden, network.head)
    return [(layer.weight, layer.bias) for layer in layers if isinstance(layer, nn.Linear)]


def run_layers(network: Network, X: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Run the network and return the input and the output of each layer. The last output holds the logits."""
    return run_weights(layer_weights(network), X)


def run_weights(weights: Weights, X: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The same for a network with these weights."""
    inputs, outputs = [X], list[Tensor]()
    for weight, bias in weights:
        if outputs:
            inputs.append(torch.relu(outputs[-1]))
        outputs.append(F.linear(inputs[-1], weight, bias))
    return inputs, outputs


def append_ones(inputs: list[Tensor]) -> list[Tensor]:
    """The rows [x, 1] for the input of each layer, detached."""
    return [F.pad(rows.detach(), (0, 1), value=1.0) for rows in inputs]


def join(weight: Tensor, bias: Tensor) -> Tensor:
    """The matrix [W|b]; leading dimensions are kept."""
    return torch.cat([weight, bias.unsqueeze(-1)], dim=-1)


def gradient(layer: nn.Linear) -> Tensor:
    """The gradient of [W|b]."""
    return join(*_gradients(layer))


def set_gradient(layer: nn.Linear, new: Tensor) -> None:
    """Overwrite the gradient of [W|b] in place."""
    weight, bias = _gradients(layer)
    weight.copy_(new[:, :-1])
    bias.copy_(new[:, -1])


def _gradients(layer: nn.Linear) -> tuple[Tensor, Tensor]:
    weight, bias = layer.weight.grad, layer.bias.grad
    assert weight is not None
    assert bias is not None
    return weight, bias
