"""How a learner scores samples: block by block, so that the scores of all of them need not exist at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from if2net import learning
from if2net.accelerate.streaming import Samples, check
from if2net.decision import DecisionLayer
from if2net.encoder import Tweak
from if2net.encoder.rowwise import RowwiseFactor, rowwise
from if2net.errors import InputError

if TYPE_CHECKING:
    from if2net.learner import IF2Net


def scored(
    net: IF2Net,
    decision: DecisionLayer,
    X: Any,
    task: int | None,
    transductive: bool,
    finish: Callable[[Tensor], Tensor] = lambda scores: scores,
) -> Tensor:
    """What `finish` makes of Vβ, samples × classes (sorted); of every row by itself."""
    assert net.encoder is not None
    samples = learning.stream(net, X)
    encode = net.encoder.encoding(tweak_for(net, samples, task, transductive))
    times_beta = RowwiseFactor(decision.beta[:, net.labels.sorted_columns].to(net.config.torch_dtype))
    found = rowwise(lambda block: finish(times_beta(encode(block))), samples)
    check(samples)
    return found


def tweak_for(net: IF2Net, X: Samples, task: int | None, transductive: bool) -> Tweak:
    """The one of this learner, that of a task, or one for X itself."""
    if transductive:
        check(X)
        assert net.encoder is not None
        return net.encoder.tweak(X.split(learning.LEARNING_BLOCK))
    if net.config.representation == "first":
        return net.tweaks[0]
    if task is None:
        raise InputError(
            "With one representation per task a prediction needs to know the task: give task=, or "
            "transductive=True, or learn with representation='first'."
        )
    if not 0 <= task < len(net.tweaks):
        raise InputError(f"There is no task {task}: {len(net.tweaks)} have been learned, counted from 0.")
    return net.tweaks[task]
