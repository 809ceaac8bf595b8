"""Reading one image: any image file as a square of RGB bytes, or an error that names the file."""

from __future__ import annotations

import io
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from if2net.errors import ConfigurationError, InputError
from if2net.extras import require

if TYPE_CHECKING:
    from PIL import Image

# Pillow's names of the formats that are read, with their suffixes. Pillow knows more formats, and for some of them it
# starts other programs, such as Ghostscript.
FORMATS = {
    "JPEG": (".jpg", ".jpeg", ".jfif"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
    "PPM": (".ppm", ".pgm"),
}
SUFFIXES = tuple(itertools.chain.from_iterable(FORMATS.values()))

# The most pixels that are decoded. As RGB they take a third of a gigabyte, and twice that during a conversion from
# 16 bits.
LARGEST = 85_000_000
# The most pixels of a JPEG file, which is decoded at a smaller scale. A progressive one still needs all of them in
# memory while it is decoded.
LARGEST_JPEG = 400_000_000
JPEG_START = b"\xff\xd8\xff"
# The most bytes of a file. Uncompressed, LARGEST pixels take fewer.
LARGEST_FILE = 10**9
# The most pixels per side of the input of a network.
LARGEST_SIZE = 2048


@dataclass(frozen=True)
class Framing:
    """Scale the shorter side of an image to `side` pixels, then keep the middle `size` × `size` pixels."""

    side: int
    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= min(self.side, LARGEST_SIZE):
            raise ConfigurationError(
                f"A backbone cannot take images of {self.size}×{self.size} pixels; choose a size from 1 to "
                f"{LARGEST_SIZE}."
            )

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
    with _explaining(path):
        check_file(path)
        with open(path, "rb") as file:
            return _decoded(file, path, framing)


def decode_image(content: bytes, name: str, framing: Framing, most_pixels: int) -> np.ndarray:
    """Read the content of an image file of at most `most_pixels` as `read_image` does. Errors call it `name`."""
    with _explaining(name):
        if not content:
            raise InputError(f"{name} is empty; repair or remove it.")
        return _decoded(io.BytesIO(content), name, framing, most_pixels)


def sides(path: Path) -> tuple[int, int]:
    """Return the width and height of the image at `path`, from its header."""
    with _explaining(path):
        check_file(path)
        with open(path, "rb") as file, _opened(file, path) as image:
            return image.size


@contextmanager
def _explaining(path: Path | str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # Pillow raises almost any error for a broken file
        reason = str(error).rstrip(".") or type(error).__name__
        raise InputError(f"{path} cannot be read as an image ({reason}); repair or remove it.") from error


def _decoded(file: BinaryIO, path: Path | str, framing: Framing, most_pixels: int | None = None) -> np.ndarray:
    most_pixels = most_pixels or LARGEST_JPEG
    with _opened(file, path) as image:
        if image.width * image.height > most_pixels:
            raise InputError(_too_large(path, most_pixels))
        image.draft("RGB", (framing.side, framing.side))  # a JPEG file is then decoded at about this scale
        if image.width * image.height > LARGEST:
            raise InputError(_too_large(path))
        from PIL import ImageOps

        ImageOps.exif_transpose(image, in_place=True)
        return _framed(_as_rgb(image, path), framing)


def check_file(path: Path) -> None:
    """Raise an error unless this is a regular file of a possible size. Reading a pipe or a device may never end."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} is not a regular file; leave it out.")
    if not status.st_size:  # as all files of /proc, which are regular, and some of which never end
        raise InputError(f"{path} is empty; repair or remove it.")
    if status.st_size > LARGEST_FILE:
        raise InputError(f"{path} has more than {LARGEST_FILE // 10**6} megabytes; scale it down.")


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


def _opened(file: BinaryIO, path: Path | str) -> Image.Image:
    """Open an image without decoding it.

    `Image.open` refuses or warns by the number of pixels, whatever the scale. A JPEG file is decoded at a small
    scale, so it is opened by its own class and has its own limit.
    """
    is_jpeg = file.read(len(JPEG_START)) == JPEG_START
    file.seek(0)
    if not is_jpeg:
        pillow = _pillow()
        try:
            opened: Image.Image = pillow.open(file, formats=tuple(FORMATS))
            return opened
        except pillow.DecompressionBombError as error:
            raise InputError(_too_large(path)) from error
        except pillow.UnidentifiedImageError as error:
            raise InputError(
                f"{path} cannot be read as an image of a known format ({', '.join(FORMATS)}); convert or remove it."
            ) from error
    from PIL.JpegImagePlugin import JpegImageFile

    return JpegImageFile(file)


def _as_rgb(image: Image.Image, path: Path | str) -> Image.Image:
    if image.mode.startswith("I"):
        return _from_sixteen_bits(image, path)
    if image.mode == "F":
        raise InputError(f"{path} has floating-point pixels, whose range is unknown; save it with 8 bits.")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        visible = image.convert("RGBA")
        white = _pillow().new("RGBA", visible.size, "white")
        white.alpha_composite(visible)
        return white.convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _from_sixteen_bits(image: Image.Image, path: Path | str) -> Image.Image:
    """Keep the upper byte of each pixel, or the lower one where no pixel exceeds 255. Pillow itself would clip."""
    values = np.asarray(image)
    largest = values.max()
    if values.min() < 0 or largest > 65535:
        raise InputError(f"{path} has pixels of more than 16 bits; save it with 8 or 16 bits.")
    grey = (values if largest <= 255 else values >> 8).astype(np.uint8)
    rgb: Image.Image = _pillow().fromarray(grey).convert("RGB")
    return rgb


def _too_large(path: Path | str, most: int = LARGEST) -> str:
    most = min(most, LARGEST)
    return f"{path} has too many pixels to decode safely; scale it down to {most // 10**6} megapixels or fewer."
