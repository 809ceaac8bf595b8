"""Algorithm 2, decision-making. Knows nothing of tasks, files or the screen."""

from if2net.decision.analytic import Analytic
from if2net.decision.gradient import ElasticGradient, Gradient
from if2net.decision.layer import DecisionLayer, Progress, Report, RuleConfig

RULES: dict[str, type[DecisionLayer]] = {
    "analytic": Analytic,
    "gradient": Gradient,
    "ewc": ElasticGradient,
}

__all__ = ["RULES", "Analytic", "DecisionLayer", "Gradient", "Progress", "Report", "RuleConfig"]
