"""How a learner lets go of samples: exactly, all at once or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from if2net import learning
from if2net.accelerate.streaming import Samples, check
from if2net.decision import Analytic
from if2net.errors import InputError
from if2net.interrupts import uninterrupted
from if2net.labels import Labels

if TYPE_CHECKING:
    from if2net.learner import IF2Net

# What is left must be so many times the rounding of what was there, or it is lost in it.
ROUNDINGS = 100


def forget(net: IF2Net, decision: Analytic, X: Samples, labels: np.ndarray) -> None:
    """Count the samples aside, and take them out when all of them were good."""
    columns = net.columns(labels)
    check(X)
    _check_learned(net, decision, columns)
    aside = net.empty_decision()
    aside.grow(len(net.labels))
    for block in learning.blocks(net, X, columns):
        aside.add(*learning.counted(net, *block))
    assert isinstance(aside, Analytic)
    left = (decision.counts > aside.counts).nonzero().flatten()
    if len(left):
        _check_precision(decision, aside)
    with uninterrupted():
        if len(left) == 0:
            net.new_decision()  # not even rounding is left
            net.labels = Labels()
            return
        decision.take_out(aside)
        if len(left) < len(net.labels):
            decision.keep(left)
            net.labels.keep(left.tolist())


def _check_learned(net: IF2Net, decision: Analytic, columns: Tensor) -> None:
    asked = torch.bincount(columns, minlength=len(net.labels))
    too_many = (asked > decision.counts).nonzero().flatten().tolist()
    if too_many:
        label = net.labels.known[too_many[0]]
        raise InputError(
            f"Class {label!r} has {int(decision.counts[too_many[0]])} learned samples, and "
            f"{int(asked[too_many[0]])} were to be forgotten; only what was learned can be forgotten."
        )


def _check_precision(decision: Analytic, aside: Analytic) -> None:
    """What was added and is subtracted again leaves its rounding behind."""
    before, taken = decision.total.trace, aside.total.trace
    if before - taken < ROUNDINGS * torch.finfo(decision.G.dtype).eps * before:
        raise InputError(
            "The samples to be forgotten are so large beside those that would be left that these would be lost in "
            "rounding. Learn what is to stay in a new learner, or use dtype='float64' from the start."
        )
