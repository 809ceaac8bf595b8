"""Gradient descent with momentum for many small steps."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class SGD:
    """v ← μv + g and θ ← θ − ηv, with the same bits as `torch.optim.SGD`.

    Around each step, torch's has hooks for profilers and compilers. They cost as much as a small step itself, and
    loading them takes seconds.

    >>> parameter = torch.nn.Parameter(torch.tensor([1.0]))
    >>> parameter.grad = torch.tensor([2.0])
    >>> SGD([parameter], rate=0.25, momentum=0.9).step()
    >>> parameter.item()
    0.5
    """

    def __init__(self, parameters: Iterable[Tensor], rate: float, momentum: float) -> None:
        self.parameters, self.rate, self.momentum = list(parameters), rate, momentum
        self.velocities = [torch.zeros_like(parameter) for parameter in self.parameters]

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move the parameters that have a gradient."""
        moved = [
            (parameter, parameter.grad, velocity)
            for parameter, velocity in zip(self.parameters, self.velocities, strict=True)
            if parameter.grad is not None
        ]
        parameters, gradients, velocities = (list(column) for column in zip(*moved, strict=True))
        torch._foreach_mul_(velocities, self.momentum)
        torch._foreach_add_(velocities, gradients)
        torch._foreach_add_(parameters, velocities, alpha=-self.rate)
