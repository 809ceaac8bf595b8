"""Algorithm 1, representation-level learning. Knows nothing of tasks, files or the screen."""

from if2net.encoder.blocks import Blocks
from if2net.encoder.dense import DenseEncoder, EncoderConfig, Tweak
from if2net.encoder.presets import PRESETS, encoder_config

__all__ = ["PRESETS", "Blocks", "DenseEncoder", "EncoderConfig", "Tweak", "encoder_config"]
