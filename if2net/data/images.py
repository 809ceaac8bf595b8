"""Reads one image of any kind as a square of RGB bytes, or says by name why not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from if2net.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")

# Pixels that are decoded at most: they take a quarter of a gigabyte. A larger JPEG is decoded at a smaller scale.
LARGEST = 85_000_000


@dataclass(frozen=True)
class Framing:
    """The shorter side becomes `side` pixels long, and the middle `size` × `size` pixels are kept."""

    side: int
    size: int

    def box(self, width: int, height: int) -> tuple[float, float, float, float]:
        """The part of a width × height image that is kept.

        >>> Framing(256, 224).box(512, 1024)
        (32.0, 288.0, 480.0, 736.0)
        """
        kept = min(width, height) * self.size / self.side
        left, top = (width - kept) / 2, (height - kept) / 2
        return left, top, left + kept, top + kept


def read_image(path: Path, framing: Framing) -> np.ndarray:
    """The image at `path` as size × size × 3 bytes.

    Of an animation it is the first picture; what is transparent becomes white; a camera's rotation is undone.
    """
    pillow = _pillow()
    try:
        with pillow.open(path) as image:
            image.draft("RGB", (framing.side, framing.side))  # a JPEG is then decoded at about this scale
            if image.width * image.height > LARGEST:
                raise InputError(_too_large(path))
            upright = _upright(_as_rgb(image, path))
            frame = (framing.size, framing.size)
            box = framing.box(upright.width, upright.height)
            return np.asarray(upright.resize(frame, pillow.Resampling.BICUBIC, box, reducing_gap=2.0))
    except InputError:
        raise
    except pillow.DecompressionBombError as error:
        raise InputError(_too_large(path)) from error
    except Exception as error:  # the readers of broken files raise nearly anything
        reason = str(error).rstrip(".") or type(error).__name__
        raise InputError(f"{path} cannot be read as an image ({reason}); repair or remove it.") from error


def read_images(paths: Sequence[Path], framing: Framing) -> tuple[np.ndarray, np.ndarray, dict[Path, str]]:
    """All that can be read, as N × size × size × 3 bytes, with a mask over the paths; and why not, for the others."""
    refused: dict[Path, str] = {}

    def read(path: Path) -> np.ndarray | None:
        try:
            return read_image(path, framing)
        except InputError as error:
            refused[path] = str(error)
            return None

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(read, paths))
    kept = np.array([image is not None for image in found], dtype=bool)
    images = [image for image in found if image is not None]
    return np.stack(images) if images else np.empty((0, framing.size, framing.size, 3), np.uint8), kept, refused


@cache
def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ConfigurationError(
            "Reading images needs Pillow; install it with `pip install 'if2net[images]'`."
        ) from error
    # The size is judged here, after a JPEG was asked for at a smaller scale; threads cannot silence a warning safely.
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    return Image


def _as_rgb(image: Image.Image, path: Path) -> Image.Image:
    if image.mode.startswith("I"):
        return _from_sixteen_bits(image, path)
    if image.mode == "F":
        raise InputError(f"{path} holds floating-point pixels, whose range is unknown; save it with 8 bits.")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        visible = image.convert("RGBA")
        white = _pillow().new("RGBA", visible.size, "white")
        white.alpha_composite(visible)
        return _keeping_rotation(white.convert("RGB"), image)
    return image if image.mode == "RGB" else _keeping_rotation(image.convert("RGB"), image)


def _from_sixteen_bits(image: Image.Image, path: Path) -> Image.Image:
    """Pillow would cut values off at 255; the upper byte is the picture."""
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() > 65535:
        raise InputError(f"{path} holds pixels of more than 16 bits; save it with 8 or 16 bits.")
    return _keeping_rotation(_pillow().fromarray((values >> 8).astype(np.uint8)).convert("RGB"), image)


def _keeping_rotation(converted: Image.Image, original: Image.Image) -> Image.Image:
    converted.getexif().update(original.getexif())
    return converted


def _upright(image: Image.Image) -> Image.Image:
    from PIL import ImageOps

    ImageOps.exif_transpose(image, in_place=True)
    return image


def _too_large(path: Path) -> str:
    return (
        f"{path} has too many pixels to be decoded safely; scale it down to {LARGEST // 10**6} megapixels or fewer."
    )
