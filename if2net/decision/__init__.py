"""Algorithm 2, decision making: the output layer. It does not use files or the screen."""

from if2net.decision.analytic import Analytic
from if2net.decision.gradient import ElasticGradient, Gradient
from if2net.decision.layer import DecisionLayer, Progress, Report, RuleConfig, Task

RULES: dict[str, type[DecisionLayer]] = {
    "analytic": Analytic,
    "gradient": Gradient,
    "ewc": ElasticGradient,
}

__all__ = ["RULES", "Analytic", "DecisionLayer", "Gradient", "Progress", "Report", "RuleConfig", "Task"]
