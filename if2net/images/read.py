"""Reading one picture: any image file as a square of RGB bytes, or an error that names the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from if2net.errors import InputError
from if2net.extras import require

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = (".jpg", ".jpeg", ".jfif", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")

# The most pixels that are decoded. As RGB they take a third of a gigabyte, and twice that during a conversion from
# 16 bits.
LARGEST = 85_000_000
# The most pixels of a JPEG file, which is decoded at a smaller scale. A progressive one still needs all of them in
# memory while it is decoded.
LARGEST_JPEG = 400_000_000
JPEG_START = b"\xff\xd8\xff"


@dataclass(frozen=True)
class Framing:
    """Scale the shorter side of an image to `side` pixels, then keep the middle `size` × `size` pixels."""

    side: int
    size: int

    def box(self, width: int, height: int) -> tuple[float, float, float, float]:
        """Return the part of a width × height image that is kept: left, top, right, bottom.

        >>> Framing(256, 224).box(512, 1024)
        (32.0, 288.0, 480.0, 736.0)
        """
        kept = min(width, height) * self.size / self.side
        left, top = (width - kept) / 2, (height - kept) / 2
        return left, top, left + kept, top + kept


def read_image(path: Path, framing: Framing) -> np.ndarray:
    """Read the image at `path` as size × size × 3 bytes.

    The first frame of an animation is taken, transparent pixels become white, and the rotation that a camera has
    recorded is undone.
    """
    try:
        with _open(path) as image:
            image.draft("RGB", (framing.side, framing.side))  # a JPEG file is then decoded at about this scale
            if image.width * image.height > LARGEST:
                raise InputError(_too_large(path))
            return _framed(_upright(_as_rgb(image, path)), framing)
    except InputError:
        raise
    except Exception as error:  # Pillow raises almost any error for a broken file
        reason = str(error).rstrip(".") or type(error).__name__
        raise InputError(f"{path} cannot be read as an image ({reason}); repair or remove it.") from error


def frame_pixels(pixels: np.ndarray, framing: Framing) -> np.ndarray:
    """Return an image in memory as size × size × 3 bytes, as `read_image` returns a file of these pixels.

    >>> frame_pixels(np.full((20, 30), 7, np.uint8), Framing(8, 8)).shape
    (8, 8, 3)
    """
    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (1,), (3,)):
        raise InputError(
            f"An image must be height × width × 3 bytes, but one has the shape {pixels.shape} of {pixels.dtype}; "
            "convert it, for example with PIL.Image.Image.convert('RGB')."
        )
    height, width = pixels.shape[:2]
    colours = np.broadcast_to(pixels.reshape(height, width, -1), (height, width, 3))
    return _framed(_pillow().fromarray(np.ascontiguousarray(colours)), framing)


def write_image(path: Path, pixels: np.ndarray) -> None:
    """Write height × width × 3 bytes as an image file; the suffix of `path` decides the format."""
    _pillow().fromarray(pixels).save(path)


def _pillow() -> Any:
    return require("PIL.Image", "images", "Reading images needs Pillow")


def _framed(image: Image.Image, framing: Framing) -> np.ndarray:
    box = framing.box(image.width, image.height)
    return np.asarray(image.resize((framing.size,) * 2, _pillow().Resampling.BICUBIC, box, reducing_gap=2.0))


def _open(path: Path) -> Image.Image:
    """Open a file without decoding it.

    `Image.open` refuses or warns by the number of pixels, whatever the scale. A JPEG file is decoded at a small
    scale, so it is opened by its own class and has its own limit.
    """
    pillow = _pillow()
    with open(path, "rb") as file:
        is_jpeg = file.read(len(JPEG_START)) == JPEG_START
    if not is_jpeg:
        try:
            opened: Image.Image = pillow.open(path)
            return opened
        except pillow.DecompressionBombError as error:
            raise InputError(_too_large(path)) from error
    from PIL.JpegImagePlugin import JpegImageFile

    image = JpegImageFile(path)
    if image.width * image.height > LARGEST_JPEG:
        image.close()
        raise InputError(_too_large(path))
    return image


def _as_rgb(image: Image.Image, path: Path) -> Image.Image:
    if image.mode.startswith("I"):
        return _from_sixteen_bits(image, path)
    if image.mode == "F":
        raise InputError(f"{path} has floating-point pixels, whose range is unknown; save it with 8 bits.")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        visible = image.convert("RGBA")
        white = _pillow().new("RGBA", visible.size, "white")
        white.alpha_composite(visible)
        return _keeping_rotation(white.convert("RGB"), image)
    return image if image.mode == "RGB" else _keeping_rotation(image.convert("RGB"), image)


def _from_sixteen_bits(image: Image.Image, path: Path) -> Image.Image:
    """Keep the upper byte of each pixel, or the lower one where no pixel exceeds 255. Pillow itself would clip."""
    values = np.asarray(image)
    largest = values.max()
    if values.min() < 0 or largest > 65535:
        raise InputError(f"{path} has pixels of more than 16 bits; save it with 8 or 16 bits.")
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
    return f"{path} has too many pixels to decode safely; scale it down to {LARGEST // 10**6} megapixels or fewer."
