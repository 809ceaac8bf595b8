"""Reads idx files, the format of MNIST and FashionMNIST, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np

from if2net.errors import InputError


def read_idx(path: Path) -> np.ndarray:
    """The array in an idx file of unsigned bytes."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be unpacked ({error}); get the file again.") from error
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise InputError(f"{path} is not an idx file of unsigned bytes; get the file again.")
    dimensions = content[3]
    start = 4 + 4 * dimensions
    shape = tuple(int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(dimensions))
    values = np.frombuffer(content, dtype=np.uint8, offset=min(start, len(content)))
    if values.size != int(np.prod(shape)):
        raise InputError(f"{path} is cut short: it announces {shape} but holds {values.size} bytes.")
    return values.reshape(shape)
