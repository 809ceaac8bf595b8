"""The compared methods by name, in the order of the paper's table; then the analytic peers; then ours."""

from if2net.methods.base import Costs, Method
from if2net.methods.if2net import IF2NetElastic, IF2NetMethod
from if2net.methods.joint import Joint
from if2net.methods.none import NoDefence

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        NoDefence,
        Joint,
        IF2NetMethod,
        IF2NetElastic,
    )
}

__all__ = ["METHODS", "Costs", "Method"]
