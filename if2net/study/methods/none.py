"""None: plain sequential training, the lower bound."""

from if2net.study.methods.common.trainer import Trainer


class NoDefence(Trainer):
    """Train on each task in turn, with nothing against forgetting.

    The loss is plain cross-entropy over the classes seen so far. Only the network is kept between tasks.
    """

    name = "none"
    summary = "plain sequential training; the lower bound"
    graph_safe = True
