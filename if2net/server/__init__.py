"""The live service: `if2net serve`. A model that people teach and query over HTTP."""

from if2net.server.running import serving
from if2net.server.settings import Settings

__all__ = ["Settings", "serving"]
