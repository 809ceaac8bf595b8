"""First-task adaptation: an innate network is trained on the pictures of the first task, then frozen."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from if2net.encoder.innate.network import Network, for_inference
from if2net.errors import ConfigurationError
from if2net.progress import Show
from if2net.study.pretraining.augmentation import mirror, shift

TURNS = 4  # the directions in which a picture is shown
HEAD_RATE = 0.01  # of the last layer, which starts from zero and is discarded


@dataclass(frozen=True)
class Adaptation:
    """The settings of an adaptation. The rates fall to zero along a cosine."""

    steps: int = 300
    batch: int = 16  # pictures per step, each in four directions
    rate: float = 1e-5  # larger ones were no better on held-back pictures (results/innate_adaptation.py)
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.steps, self.batch) < 1 or not self.rate > 0:
            raise ConfigurationError("An adaptation needs one step, one picture per step and a positive rate.")

    def share_at(self, step: int) -> float:
        """Return the rate of a step as a share of the full rate."""
        return (1 + math.cos(math.pi * step / self.steps)) / 2


def adapt(
    network: Network, pictures: Tensor, labels: Tensor, adaptation: Adaptation, show: Show | None = None
) -> Network:
    """Return a copy of a network, trained to distinguish the classes and directions of these pictures.

    The loss is the cross-entropy of class and direction, from the mean of the last map. The copy keeps the mean and
    the spread of the features on drawings. The result is deterministic on one machine.

    Parameters
    ----------
    network : Network
        A folded network, such as `weights.shipped` returns. It is not changed.
    pictures : Tensor of uint8, shape (n, 1 or 3, side, side)
        The training pictures of the first task.
    labels : Tensor of int64
        Their classes, 0 to C−1.
    adaptation : Adaptation
        The number of steps, the rates and the seed.
    show : Show, optional
        Called after each step with the number of finished steps, the number of all steps, and the loss.
    """
    device, width = network.mean.device, network.plan.widths[-1]
    generator = torch.Generator().manual_seed(adaptation.seed)
    adapted = deepcopy(network).requires_grad_(True)
    scale = network.spread[-width:].mean()  # the last features come from the last map
    head = nn.Linear(width, TURNS * (int(labels.max()) + 1)).to(device)
    for values in head.parameters():
        nn.init.zeros_(values)
    # Adam, because folded weights differ in size from layer to layer.
    groups = [(adapted, adaptation.rate), (head, HEAD_RATE)]
    optimiser = torch.optim.Adam([{"params": part.parameters(), "rate": rate} for part, rate in groups])
    for step in range(adaptation.steps):
        for group in optimiser.param_groups:
            group["lr"] = group["rate"] * adaptation.share_at(step)
        chosen = torch.randint(len(labels), (adaptation.batch,), generator=generator)
        some = shift(mirror(pictures[chosen].to(device) / 255, generator), generator).expand(-1, 3, -1, -1)
        turned = torch.cat([some.rot90(turns, (2, 3)) for turns in range(TURNS)])
        wanted = torch.cat([TURNS * labels[chosen] + turns for turns in range(TURNS)]).to(device)
        last = adapted(turned.contiguous(memory_format=torch.channels_last))[-1]
        loss = cross_entropy(head(last.mean(dim=(2, 3)) / scale), wanted)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if show is not None:
            show(step + 1, adaptation.steps, f"loss {float(loss.detach()):.3f}")
    return for_inference(adapted)
