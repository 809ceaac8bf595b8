"""Learning on many machines with Ray. The result is the same as on one machine."""

from if2net.cluster.connection import connect
from if2net.cluster.learning import learn, learn_images, learn_tables

__all__ = ["connect", "learn", "learn_images", "learn_tables"]
