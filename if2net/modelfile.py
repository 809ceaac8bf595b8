"""Model files: safetensors with a JSON header and a checksum, written whole or not at all. No pickle."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from if2net.errors import ModelFileError, OutputError
from if2net.files import check_name, replacing

FORMAT = 2
# The checksum is the SHA-256 digest of the file with this instead of the checksum.
_BLANK = "0" * 64
_DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_DTYPES |= {"I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8}
_DTYPES |= {"U8": torch.uint8, "BOOL": torch.bool}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def write(
    path: str | os.PathLike[str], tensors: dict[str, Tensor], header: dict[str, Any], keep_old: bool = False
) -> None:
    """Write a model file, whole or not at all. With `keep_old`, the file that it replaces stays beside it.

    The library safetensors is not used: its own temporary file would remain if the process is killed.
    """
    metadata = {"format": str(FORMAT), "if2net": json.dumps(header), "checksum": _BLANK}
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    ordered = sorted(tensors.items(), key=lambda item: -item[1].itemsize)  # aligned, as the format requires
    for name, tensor in ordered:
        start, end = end, end + tensor.nbytes
        entries[name] = {"dtype": _NAMES[tensor.dtype], "shape": [*tensor.shape], "data_offsets": [start, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    start_of_file = len(text).to_bytes(8, "little") + text
    digest = hashlib.sha256(start_of_file)
    try:
        with replacing(os.fsdecode(path), keep_old) as temporary, open(temporary, "wb") as file:
            file.write(start_of_file)
            for _, tensor in ordered:
                content = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
                digest.update(content)
                file.write(content)
            file.seek(start_of_file.index(_stored(_BLANK)))
            file.write(_stored(digest.hexdigest()))
    except OutputError as error:
        raise ModelFileError(str(error)) from error


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the header of a model file, or raise an error that says what is wrong with it.

    The file is opened and read once, so that a file that is replaced meanwhile is read whole. Sizes are checked
    against the file before memory is taken, and nothing is returned unless the checksum matches.
    """
    try:
        check_name(path)
    except OutputError as error:
        raise ModelFileError(str(error)) from error
    source = Path(os.fsdecode(path))
    with _explaining(source):
        is_folder, is_file = source.is_dir(), source.is_file()
    if is_folder:
        raise ModelFileError(f"{source} is a folder, not a model file; give an .if2 file.")
    if not is_file:
        raise ModelFileError(f"There is no model file at {source}; check the path.")
    with _explaining(source), open(source, "rb") as file:
        return _read(file, os.fstat(file.fileno()).st_size, source)


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the header of a model file without its tensors, which are neither read nor checked."""
    source = Path(os.fsdecode(path))
    with _explaining(source), open(source, "rb") as file:
        metadata, *_ = _read_start(file, os.fstat(file.fileno()).st_size, source)
        return _header(metadata)


def read_bytes(content: bytes, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the header from the content of a model file. Errors call it `name`."""
    with _explaining(name):
        return _read(io.BytesIO(content), len(content), name)


@contextmanager
def _explaining(source: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelFileError(
            f"{source} cannot be read ({error.strerror}); check its name and its permissions."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{source} is not a model file, or it is cut short or damaged ({error}). Use a backup copy."
        ) from error


def _read(file: IO[bytes], size: int, source: Path | str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    metadata, entries, start = _read_start(file, size, source)
    checksum = metadata["checksum"]
    digest = hashlib.sha256(start.replace(_stored(checksum), _stored(_BLANK), 1))
    tensors = {}
    for name, (dtype, shape, bytes_) in _layout(entries, size - len(start)).items():
        content = bytearray(bytes_)
        file.readinto(content)  # type: ignore[attr-defined]  # after a short read the checksum differs
        digest.update(content)
        tensors[name] = (torch.frombuffer(content, dtype=dtype) if bytes_ else torch.empty(0, dtype=dtype)).reshape(
            shape
        )
    if metadata.get("format") != str(FORMAT) or digest.hexdigest() != checksum:
        raise ModelFileError(f"{source} is damaged: its checksum does not match. Use a backup copy.")
    return tensors, _header(metadata)


def _read_start(file: IO[bytes], size: int, source: Path | str) -> tuple[dict[str, str], dict[str, Any], bytes]:
    """Return the metadata of a file in a format that can be read, the entries of its tensors, and these bytes."""
    length = file.read(8)
    header_bytes = int.from_bytes(length, "little")
    if not 0 < header_bytes <= size - 8:
        raise ModelFileError(f"{source} is not a model file, or it is cut short; give an .if2 file.")
    raw = file.read(header_bytes)
    entries = json.loads(raw)
    metadata = entries.pop("__metadata__", {})
    if "if2net" not in metadata or "checksum" not in metadata:
        raise ModelFileError(f"{source} is a safetensors file but not an if2net model; give an .if2 file.")
    version = int(metadata["format"]) if metadata.get("format", "").isdecimal() else None
    if version is not None and version != FORMAT:
        advice = "upgrade if2net" if version > FORMAT else "learn the model again"
        raise ModelFileError(
            f"{source} was written in format {version}, and this version of if2net reads format {FORMAT}; {advice}."
        )
    return metadata, entries, length + raw


def _header(metadata: dict[str, str]) -> dict[str, Any]:
    header = json.loads(metadata["if2net"])
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return header


def _layout(entries: dict[str, Any], data: int) -> dict[str, tuple[torch.dtype, list[int], int]]:
    """Return the type, shape and bytes of each tensor in the order of the file, which they must fill exactly."""
    layout, end = {}, 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (start, stop) = _DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if not all(isinstance(number, int) and number >= 0 for number in shape):
            raise ValueError(f"the tensor {name} has the shape {shape}")
        if start != end or stop - start != dtype.itemsize * math.prod(shape):
            raise ValueError(f"the tensor {name} does not fit its place")
        layout[name], end = (dtype, shape, stop - start), stop
    if end != data:
        raise ValueError("its tensors do not fill it")
    return layout


def _stored(checksum: str) -> bytes:
    return f'"checksum":"{checksum}"'.encode()
