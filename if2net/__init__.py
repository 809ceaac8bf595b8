"""if2net: a classifier that keeps learning new classes, keeps no old data and forgets nothing.

The names below are loaded when first used, so that `import if2net` is quick and `if2net --help` needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from if2net.version import __version__

if TYPE_CHECKING:
    from if2net.classifier import IF2NetClassifier, load
    from if2net.config import Config
    from if2net.errors import IF2NetError
    from if2net.images.learning import learn_images, predict_images
    from if2net.learner import IF2Net

_HOME = {
    "IF2Net": "if2net.learner",
    "IF2NetClassifier": "if2net.classifier",
    "load": "if2net.classifier",
    "Config": "if2net.config",
    "IF2NetError": "if2net.errors",
    "learn_images": "if2net.images.learning",
    "predict_images": "if2net.images.learning",
}

__all__ = [
    "Config",
    "IF2Net",
    "IF2NetClassifier",
    "IF2NetError",
    "__version__",
    "learn_images",
    "load",
    "predict_images",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'if2net' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
