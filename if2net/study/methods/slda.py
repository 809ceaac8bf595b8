"""SLDA: streaming linear discriminant analysis (Hayes and Kanan, 2020)."""

from __future__ import annotations

from dataclasses import dataclass

from if2net.errors import ConfigurationError
from if2net.study.methods.common.discriminants import Linear, class_means, linear_discriminant, within_covariance
from if2net.study.methods.common.statistical import Statistical, StatisticalSettings


@dataclass(frozen=True)
class StreamingLDASettings(StatisticalSettings):
    shrinkage: float = 1e-4  # ε of (1 − ε)Σ + εI; the authors' value

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.shrinkage <= 1:
            raise ConfigurationError(f"The shrinkage must be above 0 and at most 1, but it is {self.shrinkage}.")


class StreamingLDA(Statistical):
    """Compute linear discriminants from the class means and one covariance for all classes.

    The statistics n, G and Q are kept; `linear_discriminant` holds the equation. Departure: the original updates
    mean and covariance sample by sample and starts with an OAS estimate. It approximates the covariance around the
    class means, which G and Q give exactly and in any order.
    """

    name = "slda"
    summary = "streaming linear discriminant analysis; keeps one covariance"
    Settings = StreamingLDASettings

    def classifier(self) -> Linear:
        statistics = self.statistics[0]
        covariance = within_covariance(statistics)
        return linear_discriminant(class_means(statistics), covariance, self.settings.shrinkage)
