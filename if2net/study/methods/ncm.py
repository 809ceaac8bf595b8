"""NCM: the nearest class mean."""

from __future__ import annotations

from if2net.study.methods.common.discriminants import Linear, class_means, nearest_mean
from if2net.study.methods.common.statistical import Statistical


class NearestClassMean(Statistical):
    """Assign each sample to the class with the nearest mean, by the Euclidean distance of standardised inputs.

    Only the sums and counts of the classes are kept; there is no loss to minimise.
    """

    name = "ncm"
    summary = "nearest class mean; keeps only sums"
    gram = False

    def classifier(self) -> Linear:
        return nearest_mean(class_means(self.statistics[0]))
