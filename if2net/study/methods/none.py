"""None: plain sequential training, the lower bound."""

from if2net.study.methods.trainer import Trainer


class NoDefence(Trainer):
    """Nothing against forgetting: only the latest task is remembered."""

    name = "none"
    summary = "plain sequential training; the lower bound"
    replays = True
