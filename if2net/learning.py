"""How a learner takes in a task: an array, or a stream of batches. If anything is wrong, it stays as it was."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from if2net import inputs
from if2net.accelerate.streaming import Samples, Streamed, check, worth_streaming
from if2net.decision import Analytic, Gradient, Report
from if2net.decision.analytic import WIDE
from if2net.encoder import DenseEncoder
from if2net.holdout import held_out
from if2net.interrupts import uninterrupted
from if2net.labels import Labels

if TYPE_CHECKING:
    from if2net.learner import IF2Net

# How many samples are encoded at a time: the features of all of them never exist at once.
LEARNING_BLOCK = 4096
# And how many are counted at a time: on a CPU so few that the memory of one block serves for the next.
COUNTED = {"cpu": 512, "cuda": 16_384}

# An encoder starts from so many samples of the first data at most; more would not move the spread of a feature.
STARTING = 65_536

# A task of at most so many samples is counted in place by a wide learner: taking it back would not take long.
IN_PLACE = 16_384
# And only as long as its squares are so many times those of everything learned: more would not leave it as it was.
TAKEN_BACK = 8


Block = tuple[Tensor, Tensor, Tensor]  # samples, their columns of Q, and which of them are held out


def stream(net: IF2Net, X: Any) -> Samples:
    """X to be gone over block by block: where it is long it stays in host memory, and `check` is to come later."""
    config = net.config
    matrix = inputs.matrix(X, None if net.encoder is None else net.encoder.inputs)
    if not worth_streaming(matrix, config.torch_device):
        return net.samples(matrix)
    return Streamed(
        matrix, config.torch_dtype, config.torch_device, lambda block: _looks_good(net, block), net.samples
    )


def _looks_good(net: IF2Net, X: Tensor) -> Tensor:
    """What `net.samples` would say, as a tensor on the device."""
    finite = inputs.finite(X)
    return finite if net.encoder is None else finite & (net.encoder.farthest(X) <= inputs.largest(X.dtype))


def blocks(net: IF2Net, X: Samples, columns: Tensor) -> Iterator[Block]:
    """What is counted at a time. What is all here is hashed first: BLAS keeps its threads awake between products."""
    size, share = COUNTED[X.device.type], net.config.holdout
    held = held_out(X, share).split(size) if isinstance(X, Tensor) else None
    for place, (block, its_columns) in enumerate(zip(X.split(size), columns.split(size), strict=True)):
        yield block, its_columns, held_out(block, share) if held is None else held[place]


def counted(net: IF2Net, X: Tensor, columns: Tensor, held: Tensor) -> Block:
    """What a decision layer counts of a block: V in the place of X."""
    return encode(net, X), columns, held


def encode(net: IF2Net, X: Tensor) -> Tensor:
    """V of the current task."""
    assert net.encoder is not None
    return net.encoder.encode(X, net.tweaks[-1] if net.tweaks else [])


def learn_arrays(net: IF2Net, X: Samples, labels: np.ndarray, report: Report | None) -> None:
    """Learn a task whose samples are all here.

    Everything new is put together in a copy, and taken over in one step together with the statistics.
    """
    after = copy.copy(net)
    after.labels = Labels([*net.labels.known, *net.labels.check(labels)])
    after.encoder = net.encoder or _start(net, X)
    if isinstance(X, Streamed):
        X.looks_good, X.explain = partial(_looks_good, after), after.samples
    if not net.tweaks or net.config.representation == "per-task":
        if after.encoder.config.tweaked:  # else all of X would be gone over for nothing
            check(X)
        after.tweaks = [*net.tweaks, after.encoder.tweak(X.split(LEARNING_BLOCK))]
    after.tasks += 1
    if after.decision is None:
        after.new_decision()
    _decide(net, after, X, after.columns(labels), report)


def learn_batches(net: IF2Net, batches: Iterable[Any], report: Report | None) -> None:
    """Learn a stream: aside first, and merged in when all of it was good."""
    if not _streams(net, batches):
        learn_arrays(net, *_gathered(net, batches), report)
        return
    aside = net.fork() if net.encoder is not None else type(net)(net.config)
    aside.labels = Labels(net.labels.known)  # so that labels that do not go together are seen here
    if not aside.tweaks and iter(batches) is not batches:
        _settle(aside, batches)
    for X, y in inputs.pairs(batches):
        learn_arrays(aside, aside.samples(X), inputs.labels(y, len(X)), report)
    aside.tasks = 1
    net.merge(aside)


def _start(net: IF2Net, X: Samples) -> DenseEncoder:
    encoder = net.new_encoder(X.shape[1])
    source = X.source if isinstance(X, Streamed) else X
    encoder.start(net.samples(source[:: math.ceil(len(X) / STARTING)]))
    if isinstance(X, Tensor):
        inputs.check_range(float(encoder.farthest(X)), X.dtype)
    return encoder


def _decide(net: IF2Net, after: IF2Net, X: Samples, columns: Tensor, report: Report | None) -> None:
    classes, decision = len(after.labels), after.decision
    if isinstance(decision, Gradient):
        after.decision = decision = copy.deepcopy(decision)
        decision.grow(classes)
        parts = [(encode(after, block), held) for block, _, held in blocks(after, X, columns)]
        V, held = (torch.cat(part) for part in zip(*parts, strict=True))
        check(X)
        decision.learn(V, columns, held, report)
        _take_over(net, after)
        return
    assert isinstance(decision, Analytic)
    wide = decision.classes > 0 and decision.width >= WIDE
    if wide and isinstance(X, Tensor) and len(X) <= IN_PLACE and _count_in_place(net, after, decision, X, columns):
        return
    # Counted aside and then merged, so that a learner that is interrupted half-way is the one that it was.
    aside = after.empty_decision()
    aside.grow(classes)
    for block in blocks(after, X, columns):
        aside.add(*counted(after, *block))
    check(X)
    assert isinstance(aside, Analytic)
    with uninterrupted():
        if decision.classes:
            decision.settle()
            decision.grow(classes)
            decision.merge(aside, torch.arange(classes, device=X.device))
        else:
            after.decision = aside
        _take_over(net, after)


def _take_over(net: IF2Net, after: IF2Net) -> None:
    vars(net).update(vars(after))  # one step: no signal comes in between


def _count_in_place(net: IF2Net, after: IF2Net, decision: Analytic, X: Tensor, columns: Tensor) -> bool:
    """Without statistics of their own, which take long to fill where they are wide; interrupted, it is taken back.

    Not so where the new samples are much larger than the old ones, which would be lost in the rounding of these.
    """
    if decision.few(len(X)):
        few = counted(after, X, columns, held_out(X, net.config.holdout))
        with uninterrupted():
            decision.update(*few, len(after.labels))
            _take_over(net, after)
        return True
    before, most, size, whole = decision.classes, TAKEN_BACK * decision.total.trace, 0.0, False
    done: list[Block] = []
    try:
        decision.settle()
        decision.grow(len(after.labels))
        for block in blocks(after, X, columns):
            part = counted(after, *block)
            size += float(torch.linalg.vector_norm(part[0])) ** 2
            if size > most:
                return False
            with uninterrupted():
                decision.add(*part)
                done.append(block)
            del part  # so that its memory serves for the next one
        with uninterrupted():
            _take_over(net, after)
            whole = True
    finally:
        if not whole:
            with uninterrupted():
                for block in done:
                    decision.subtract(*counted(after, *block))
                decision.keep(torch.arange(before, device=X.device))
    return True


def _streams(net: IF2Net, batches: Iterable[Any]) -> bool:
    """Whether a batch can be learned and let go.

    Gradient rules need all of the task; to find a tweak goes over it again and again, which a generator cannot.
    """
    if net.config.rule != "analytic" or net.config.representation == "per-task":
        return False
    return bool(net.tweaks) or not net.new_encoder(1).config.tweaked or iter(batches) is not batches


def _gathered(net: IF2Net, batches: Iterable[Any]) -> tuple[Tensor, np.ndarray]:
    tensors: list[Tensor] = []
    labels: list[np.ndarray] = []
    seen = Labels(net.labels.known)  # so that labels that do not go together are seen here
    for X, y in inputs.pairs(batches):
        tensors.append(net.samples(X, tensors[0].shape[1] if tensors else None))
        labels.append(inputs.labels(y, len(X)))
        seen.extend(labels[-1])
    return torch.cat(tensors), np.concatenate(labels)


def _settle(net: IF2Net, batches: Iterable[Any]) -> None:
    """Find the encoder and its tweak by going over the batches, once a layer, without keeping any."""
    net.encoder = _start(net, net.samples(next(inputs.pairs(batches))[0]))
    net.tweaks = [net.encoder.tweak(inputs.Repeatable(lambda: (net.samples(X) for X, _ in inputs.pairs(batches))))]
    net.new_decision()
