"""NCM: the nearest class mean."""

from __future__ import annotations

from if2net.study.methods.common.moments import class_means
from if2net.study.methods.common.statistical import Linear, Statistical


class NearestClassMean(Statistical):
    """Assign each sample to the class with the nearest mean, by the Euclidean distance of standardised inputs.

    Only the sums and counts of the classes are kept; there is no loss to minimise.
    """

    name = "ncm"
    summary = "nearest class mean; keeps only sums"
    gram = False

    def classifier(self) -> Linear:
        """The scores vᵀμ_k − ‖μ_k‖²/2, which are largest for the least ‖v − μ_k‖²."""
        means = class_means(self.statistics[0])
        return means.T, -means.square().sum(dim=1) / 2
