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

SUFFIXES = (".jpg", ".jpeg", ".jfif", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")

# Pixels that are decoded at most: as RGB they take a third of a gigabyte, and twice that while 16 bits are converted.
LARGEST = 85_000_000
# Those of a JPEG at most, which is decoded at a smaller scale; a progressive one has them all in memory meanwhile.
LARGEST_JPEG = 400_000_000


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
        with _open(path) as image:
            image.draft("RGB", (framing.side, framing.side))  # a JPEG is then decoded at about this scale
            if image.width * image.height > LARGEST:
                raise InputError(_too_large(path))
            upright = _upright(_as_rgb(image, path))
            frame = (framing.size, framing.size)
            box = framing.box(upright.width, upright.height)
            return np.asarray(upright.resize(frame, pillow.Resampling.BICUBIC, box, reducing_gap=2.0))
    except InputError:
        raise
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


def write_image(path: Path, pixels: np.ndarray) -> None:
    """Height × width × 3 bytes as an image file of the kind that the ending says."""
    _pillow().fromarray(pixels).save(path)


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


def _open(path: Path) -> Image.Image:
    """Pillow refuses what has very many pixels, whatever its scale; of a JPEG only a small part need be decoded."""
    pillow = _pillow()
    try:
        return pillow.open(path)
    except pillow.DecompressionBombError as error:
        from PIL.JpegImagePlugin import JpegImageFile

        try:
            image = JpegImageFile(path)
        except SyntaxError:  # Pillow's word for another kind of file
            raise InputError(_too_large(path)) from error
        if image.width * image.height > LARGEST_JPEG:
            image.close()
            raise InputError(_too_large(path)) from error
        return image


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
    """Pillow would cut values off at 255; the upper byte is the picture, unless all of it is in the lower one."""
    values = np.asarray(image)
    largest = values.max()
    if values.min() < 0 or largest > 65535:
        raise InputError(f"{path} holds pixels of more than 16 bits; save it with 8 or 16 bits.")
    grey = (values if largest <= 255 else values >> 8).astype(np.uint8)
    return _keeping_rotation(_pillow().fromarray(grey).convert("RGB"), image)


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
