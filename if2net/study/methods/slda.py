"""SLDA: streaming linear discriminant analysis (Hayes and Kanan, 2020)."""

from __future__ import annotations

from dataclasses import dataclass

from if2net.decision.ridge import solve
from if2net.errors import ConfigurationError
from if2net.study.methods.common.moments import class_means, within_covariance
from if2net.study.methods.common.statistical import Linear, Statistical, StatisticalSettings


@dataclass(frozen=True)
class StreamingLDASettings(StatisticalSettings):
    shrinkage: float = 1e-4  # ε of (1 − ε)Σ + εI; the authors' value

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.shrinkage <= 1:
            raise ConfigurationError(f"The shrinkage must be above 0 and at most 1, but it is {self.shrinkage}.")


class StreamingLDA(Statistical):
    """Compute linear discriminants from the class means and one covariance for all classes.

    The statistics n, G and Q are kept. Departure: the original updates mean and covariance sample by sample and
    starts with an OAS estimate. It approximates the covariance around the class means, which G and Q give exactly
    and in any order.
    """

    name = "slda"
    summary = "streaming linear discriminant analysis; keeps one covariance"
    Settings = StreamingLDASettings

    def classifier(self) -> Linear:
        """w_k = Σ_ε⁻¹μ_k and b_k = −μ_kᵀw_k/2 with Σ_ε = (1 − ε)Σ + εI, for equal class priors."""
        means, shrinkage = class_means(self.statistics[0]), self.settings.shrinkage
        weights = solve((1 - shrinkage) * within_covariance(self.statistics[0]), means.T, shrinkage)
        return weights, -(means.T * weights).sum(dim=0) / 2
