"""How a learner takes in a task: an array, or a stream of batches. If anything is wrong, it stays as it was."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from if2net import inputs
from if2net.content import held_out
from if2net.decision import Analytic, Gradient, Report
from if2net.decision.analytic import WIDE
from if2net.encoder import DenseEncoder
from if2net.labels import Labels
from if2net.streamed import Samples, Streamed, check, worth_streaming

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
    """Learn a task whose samples are all here."""
    new = net.labels.check(labels)
    encoder = net.encoder or _start(net, X)
    tweaks = list(net.tweaks)
    if not tweaks or net.config.representation == "per-task":
        if encoder.config.tweaked:  # else all of X would be gone over for nothing
            check(X)
        tweaks.append(encoder.tweak(X.split(LEARNING_BLOCK)))
    # From here on nothing in the data can be wrong any more, but what is streamed: that is looked at as it goes by.
    before = (net.encoder, net.tweaks, net.decision, list(net.labels.known))
    kept = dict(net.decision.tensors()) if isinstance(net.decision, Gradient) else None
    net.encoder, net.tweaks = encoder, tweaks
    try:
        if net.decision is None:
            net.new_decision()
        net.labels.known += new
        _decide(net, X, net.columns(labels), report)
    except BaseException:
        net.encoder, net.tweaks, net.decision, net.labels.known = before
        if kept is not None and net.decision is not None:
            net.decision.restore(kept)
        raise
    net.tasks += 1


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


def _decide(net: IF2Net, X: Samples, columns: Tensor, report: Report | None) -> None:
    classes = len(net.labels)
    if isinstance(net.decision, Gradient):
        net.decision.grow(classes)
        parts = [(encode(net, block), held) for block, _, held in blocks(net, X, columns)]
        V, held = (torch.cat(part) for part in zip(*parts, strict=True))
        check(X)
        net.decision.learn(V, columns, held, report)
        return
    if isinstance(net.decision, Analytic) and net.decision.classes and net.decision.width >= WIDE:
        if isinstance(X, Tensor) and len(X) <= IN_PLACE:
            _count_in_place(net, net.decision, X, columns)
            return
        net.decision.settle()
    # Counted aside and then merged, so that a learner that is interrupted half-way is the one that it was.
    aside = net.empty_decision()
    aside.grow(classes)
    for block in blocks(net, X, columns):
        aside.add(*counted(net, *block))
    check(X)
    if isinstance(net.decision, Analytic) and isinstance(aside, Analytic) and net.decision.classes:
        net.decision.grow(classes)
        net.decision.merge(aside, torch.arange(classes, device=X.device))
    else:
        net.decision = aside


def _count_in_place(net: IF2Net, decision: Analytic, X: Tensor, columns: Tensor) -> None:
    """Without statistics of their own, which take long to fill where they are wide; interrupted, it is taken back."""
    before, classes = decision.classes, len(net.labels)
    if decision.few(len(X)):
        few = counted(net, X, columns, held_out(X, net.config.holdout))
        with uninterrupted():
            decision.update(*few, classes)
        return
    decision.settle()
    decision.grow(classes)
    done: list[Block] = []
    try:
        for block in blocks(net, X, columns):
            part = counted(net, *block)
            with uninterrupted():
                decision.add(*part)
                done.append(block)
    except BaseException:
        with uninterrupted():
            for block in done:
                decision.subtract(*counted(net, *block))
            decision.keep(torch.arange(before, device=X.device))
        raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until this is over. No thread but the main one is ever interrupted.

    Blocking the signal would not do: another thread would take it, and Python interrupt the main one all the same.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


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
