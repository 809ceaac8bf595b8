"""Model files: safetensors with a JSON header, checked byte for byte, written whole or not at all. No pickle."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from if2net.errors import ModelFileError, OutputError
from if2net.files import replacing

FORMAT = 2
_BLANK = "0" * 64


def write(path: str | os.PathLike[str], tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Write a model file, whole or not at all."""
    content = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"format": str(FORMAT), "if2net": json.dumps(header), "checksum": _BLANK}
    try:
        with replacing(path) as temporary:
            save_file(content, temporary, metadata)
            _stamp(temporary)
    except OutputError as error:
        raise ModelFileError(str(error)) from error


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the header of a model file, or raise an error that says what is wrong with it."""
    source = Path(path)
    if not source.is_file():
        raise ModelFileError(f"There is no model file at {source}; check the path.")
    try:
        with safe_open(source, framework="pt") as file:
            metadata = file.metadata() or {}
            if "if2net" not in metadata or "checksum" not in metadata:
                raise ModelFileError(f"{source} is a safetensors file but not an if2net model; give an .if2 file.")
            version = int(metadata["format"]) if metadata.get("format", "").isdecimal() else None
            if version is not None and version != FORMAT:
                advice = "upgrade if2net" if version > FORMAT else "learn the model again"
                raise ModelFileError(
                    f"{source} was written in format {version}, and this version of if2net reads format {FORMAT}; "
                    f"{advice}."
                )
            if version is None or _digest(source, metadata["checksum"]) != metadata["checksum"]:
                raise ModelFileError(f"{source} is damaged: its checksum does not match. Use a backup copy.")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise ModelFileError(
            f"{source} is not a model file, or it is cut short or damaged ({error}). Use a backup copy."
        ) from error
    return tensors, json.loads(metadata["if2net"])


def _stamp(path: Path) -> None:
    """Replace the blank checksum by the digest of the file with the blank."""
    digest = _digest(path, _BLANK)
    position = _checksum_position(path, _BLANK)
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(digest.encode())


def _digest(path: Path, checksum: str) -> str:
    position = _checksum_position(path, checksum)
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        digest.update(file.read(position))
        digest.update(_BLANK.encode())
        file.seek(position + len(_BLANK))
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _checksum_position(path: Path, checksum: str) -> int:
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        start = file.read(length).find(f'"checksum":"{checksum}"'.encode())
    if start < 0 or len(checksum) != len(_BLANK):
        raise ModelFileError(f"{path} is damaged: its checksum is unreadable. Use a backup copy.")
    return 8 + start + len('"checksum":"')
