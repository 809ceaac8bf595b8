"""The temperature of the probabilities, fitted on held-out statistics, without keeping samples.

Drawn scores stand in for the held-out samples (see `score_draws.py`). The temperature maximises the likelihood of
their true classes, times a prior: a few held-out samples that happen to be all right, or all wrong, must not
determine the temperature on their own.
"""

from __future__ import annotations

import math

from torch import Tensor
from torch.nn.functional import cross_entropy

from if2net.decision.golden_section import golden_section
from if2net.decision.score_draws import draw_scores
from if2net.decision.statistics import Statistics

LOWEST, HIGHEST = math.log(1e-3), math.log(1e2)
STEPS_OF_SEARCH = 40
# The prior of log τ: its mean and its standard deviation. It counts as much as a few held-out samples, and little
# against hundreds.
PRIOR_MEAN, PRIOR_DEVIATION = math.log(0.15), 1.0


def temperature(beta: Tensor, held: Statistics) -> float:
    """Return the τ of softmax(scores / τ) for this β; that of the prior where fewer than two classes are held out."""
    if int((held.weights > 0).sum()) < 2:
        return math.exp(PRIOR_MEAN)
    scores, labels, _ = draw_scores(beta, held)
    weight = held.weight

    def loss(log_temperature: float) -> float:
        """Return the cross-entropy of the held-out samples minus the logarithm of the prior, per sample."""
        error = float(cross_entropy(scores / math.exp(log_temperature), labels))
        return error + ((log_temperature - PRIOR_MEAN) / PRIOR_DEVIATION) ** 2 / (2 * weight)

    return math.exp(golden_section(loss, LOWEST, HIGHEST, STEPS_OF_SEARCH))  # there is one minimum in log τ
