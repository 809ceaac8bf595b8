"""Algorithm 2, decision making: the output layer. It does not use files or the screen."""

from if2net.decision.analytic import Analytic
from if2net.decision.fixed import PREDICTS_ONLY, Fixed, fixed_tensors
from if2net.decision.gradient import ElasticGradient, Gradient
from if2net.decision.layer import Block, DecisionLayer, Report, RuleConfig, Task

RULES: dict[str, type[DecisionLayer]] = {
    "analytic": Analytic,
    "gradient": Gradient,
    "ewc": ElasticGradient,
}

__all__ = [
    "PREDICTS_ONLY",
    "RULES",
    "Analytic",
    "Block",
    "DecisionLayer",
    "Fixed",
    "Gradient",
    "Report",
    "RuleConfig",
    "Task",
    "fixed_tensors",
]
