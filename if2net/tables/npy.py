"""NumPy's .npy and .npz files as streams, some rows at a time; packed ones too."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from if2net.errors import InputError
from if2net.tables.columns import Arrays, Columns

ROWS = 4096


def npz_names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def npz_read(path: Path, columns: Columns) -> Iterator[Arrays]:
    with zipfile.ZipFile(path) as archive, ExitStack() as stack:
        streams = {name: stack.enter_context(archive.open(f"{name}.npy")) for name in columns.names}
        yield from _side_by_side(streams)


def npy_names(path: Path) -> list[str]:
    return [path.stem]


def npy_read(path: Path, columns: Columns) -> Iterator[Arrays]:
    """The features; the labels lie in a file of their own, whose path is the name of the label."""
    files = dict.fromkeys(columns.features, path)
    if columns.label is not None:
        files[columns.label] = Path(columns.label)
    with ExitStack() as stack:
        yield from _side_by_side({name: stack.enter_context(open(file, "rb")) for name, file in files.items()})


def _side_by_side(streams: dict[str, IO[bytes]]) -> Iterator[Arrays]:
    headers = {name: _header(name, stream) for name, stream in streams.items()}
    lengths = {name: shape[0] for name, (shape, _, _) in headers.items()}
    if len(set(lengths.values())) > 1:
        told = " and ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InputError(f"The arrays differ in their number of rows: {told}; give one label for each sample.")
    pieces = [_pieces(stream, *headers[name]) for name, stream in streams.items()]
    for values in zip(*pieces, strict=True):
        yield dict(zip(streams, values, strict=True))


def _header(name: str, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether it is stored column by column, and type."""
    version = npy.read_magic(stream)
    reading = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, dtype = reading(stream)
    if dtype.hasobject:
        raise InputError(f"The array {name!r} holds Python objects; save text or numbers, such as y.astype(str).")
    if not shape:
        raise InputError(f"The array {name!r} is a single number; give one row for each sample.")
    return shape, by_columns and len(shape) > 1, dtype


def _pieces(stream: IO[bytes], shape: tuple[int, ...], by_columns: bool, dtype: np.dtype) -> Iterator[np.ndarray]:
    """The rows, some at a time; what is stored column by column has to be read whole."""
    whole = _read(stream, shape[::-1], dtype).T if by_columns else None
    for start in range(0, shape[0], ROWS):
        stop = min(start + ROWS, shape[0])
        yield _read(stream, (stop - start, *shape[1:]), dtype) if whole is None else whole[start:stop]


def _read(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    size = int(np.prod(shape)) * dtype.itemsize
    content = stream.read(size)
    if len(content) < size:
        raise InputError("The file is cut short: it announces more rows than it holds. Get it again.")
    return np.frombuffer(content, dtype=dtype).reshape(shape)
