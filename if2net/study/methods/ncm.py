"""NCM: the nearest class mean."""

from __future__ import annotations

from dataclasses import dataclass

from if2net.study.methods.discriminants import Linear, class_means, nearest_mean
from if2net.study.methods.statistical import Statistical


@dataclass(frozen=True)
class NearestClassMeanSettings:
    """There is nothing to set."""


class NearestClassMean(Statistical):
    """A sample belongs to the class with the nearest mean, by the Euclidean distance between standardised inputs."""

    name = "ncm"
    summary = "nearest class mean; keeps sums alone"
    Settings = NearestClassMeanSettings
    gram = False

    def classifier(self) -> Linear:
        return nearest_mean(class_means(self.statistics[0]))
