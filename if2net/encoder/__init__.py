"""Algorithm 1, the representation: frozen layers. Only `innate.weights` uses files; nothing uses the screen."""

from if2net.encoder.blocks import Blocks
from if2net.encoder.dense import DenseEncoder, EncoderConfig, Tweak
from if2net.encoder.innate.encoder import INNATE, InnateConfig, InnateEncoder
from if2net.encoder.presets import PRESETS, encoder_config

Encoder = DenseEncoder | InnateEncoder

__all__ = [
    "INNATE",
    "PRESETS",
    "Blocks",
    "DenseEncoder",
    "Encoder",
    "EncoderConfig",
    "InnateConfig",
    "InnateEncoder",
    "Tweak",
    "encoder_config",
]
