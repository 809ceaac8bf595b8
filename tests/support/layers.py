"""Statistics and decision layers that have counted some samples."""

from if2net.decision import Analytic, RuleConfig
from if2net.decision.statistics import Statistics


def counted(V, y, classes=5):
    """Return the statistics of these samples."""
    statistics = Statistics(V.shape[1], V.dtype)
    statistics.grow(classes)
    statistics.add(V, y)
    return statistics


def learned_layer(V, y, held, classes=4, **settings):
    """Return an analytic layer that has learned these samples."""
    layer = Analytic(V.shape[1], RuleConfig(**settings), V.dtype, "cpu")
    layer.grow(classes)
    layer.add(V, y, held)
    return layer
