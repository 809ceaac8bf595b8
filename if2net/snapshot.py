"""Everything a learner keeps, as named tensors, and the way back. Model files and checkpoints are made of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from if2net import modelfile
from if2net.decision import Analytic
from if2net.errors import InputError
from if2net.labels import Labels

if TYPE_CHECKING:
    from if2net.learner import IF2Net

GRAMS = ("total", "held")


def frozen(net: IF2Net) -> dict[str, Tensor]:
    """What never changes after the first data: the encoder and the tweaks."""
    if net.encoder is None:
        raise InputError("Nothing has been learned yet, so there is nothing to save.")
    tensors = dict(net.encoder.tensors())
    for task, tweak in enumerate(net.tweaks):
        tensors |= {f"tweak.{task}.{layer}": weights for layer, weights in enumerate(tweak)}
    return tensors


def check_mergeable(net: IF2Net, other: IF2Net) -> None:
    """Only statistics of the same representation can be added; a new learner would take over the other's."""
    assert other.encoder is not None
    theirs = frozen(other)
    mine = theirs if net.encoder is None else frozen(net)
    encoder = net.encoder or net.new_encoder(other.encoder.inputs)
    same_config = encoder.config == other.encoder.config and mine.keys() == theirs.keys()
    if not same_config or not all(_same(mine[name], theirs[name]) for name in mine):
        raise InputError(
            "These two learners have different encoders, so their statistics cannot be added; only learners "
            "made with fork() from one learner (or loaded from its file) can be merged."
        )
    if (net.config.holdout, net.config.dtype) != (other.config.holdout, other.config.dtype):
        raise InputError("These two learners differ in holdout or dtype, so they cannot be merged exactly.")


def take(net: IF2Net) -> dict[str, Tensor]:
    """All tensors of a learner; of each G, one triangle."""
    tensors = frozen(net)
    assert net.decision is not None
    if isinstance(net.decision, Analytic):
        net.decision.settle()  # so that the learner and what is made from these tensors answer alike
    tensors |= dict(net.decision.tensors())
    for name in GRAMS:
        tensors[f"{name}.G"] = modelfile.pack(tensors[f"{name}.G"])
    return tensors


def put(net: IF2Net, tensors: dict[str, Tensor], classes: list[Any], tasks: int) -> None:
    """Make a new learner what `take` was called on."""
    tensors = dict(tensors)
    for name in GRAMS:
        tensors[f"{name}.G"] = modelfile.unpack(tensors[f"{name}.G"], len(tensors[f"{name}.Q"]))
    tensors = {name: tensor.to(net.config.torch_device) for name, tensor in tensors.items()}
    net.encoder = net.new_encoder(len(tensors["encoder.mean"]))
    net.encoder.restore(tensors)
    layers = len(net.encoder.config.layers) if net.encoder.config.tweaked else 0
    net.tweaks = _tweaks(tensors, layers, tasks if net.config.representation == "per-task" else 1)
    net.labels, net.tasks = Labels(classes), tasks
    net.new_decision()
    assert net.decision is not None
    net.decision.restore(tensors)


def _tweaks(tensors: dict[str, Tensor], layers: int, count: int) -> list[list[Tensor]]:
    return [[tensors[f"tweak.{task}.{layer}"] for layer in range(layers)] for task in range(count)]


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b.to(a.device))
