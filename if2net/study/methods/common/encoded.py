"""The learner with the innate encoder, for rows that are the features of its network already.

A data set then goes through the network once for all methods, seeds and numbers of tasks.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from if2net.config import Config
from if2net.encoder import InnateConfig, InnateEncoder
from if2net.encoder.innate.nodes import RandomNodes
from if2net.errors import ConfigurationError
from if2net.inputs import check_range, largest
from if2net.learner import IF2Net


class EncodedRows(InnateEncoder):
    """The innate encoder without its network: it adds the same random nodes to features that are given."""

    def start(self, X: Tensor, weights: Tensor | None = None) -> None:
        self.config.check_memory(X.dtype, X.device)
        self.full = X.new_ones(1)
        if self.config.nodes:
            self.nodes = RandomNodes.draw(self.config.features, self.config.nodes).to(X.device)

    def fits(self, X: Tensor) -> Tensor:
        return X.abs().amax() <= largest(X.dtype)

    def check(self, X: Tensor) -> None:
        check_range(float(X.abs().amax()), X.dtype)

    def _features(self, X: Tensor) -> Tensor:
        return X


class EncodedLearner(IF2Net):
    """IF2Net with the innate encoder in which a row of features takes the place of a picture.

    It equals IF2Net on the pictures, up to the rounding of the features.
    """

    def __init__(self, config: Config, features: int) -> None:
        wanted = InnateConfig.of(config.encoder, (1, features, 1), False).features
        if features != wanted:
            raise ConfigurationError(
                f"The encoder {config.encoder} needs pictures or the {wanted:,} features of its network, but the "
                f"rows have {features:,} values; give image_shape, such as 28x28, or the backbone {config.encoder}."
            )
        super().__init__(replace(config, image_shape=f"1x{features}", flips=False))

    def _new_encoder(self, config: Config, features: int) -> EncodedRows:
        return EncodedRows(InnateConfig.of(config.encoder, (1, features, 1), False, config.width))
