"""What runs in every worker: it encodes blocks of samples and counts them into statistics of its own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from if2net.cluster.reading import Reader
from if2net.config import Config
from if2net.learner import IF2Net
from if2net.tables import Arrays, Columns


@dataclass(frozen=True)
class Counted:
    """What a worker says of a block: its fingerprint, its rows, and why some of them were left out."""

    mark: str
    rows: int
    refused: dict[Path, str]


@dataclass(frozen=True)
class Part:
    """A learner as plain arrays: what travels between machines, whatever devices they have."""

    settings: dict[str, Any]
    arrays: Arrays
    classes: list[Any]


def pack(net: IF2Net) -> Part:
    arrays = {name: tensor.cpu().numpy() for name, tensor in net.tensors().items()}
    return Part(net.config.as_dict(), arrays, list(net.labels.known))


def unpack(part: Part, device: str) -> IF2Net:
    """The learner again. The arrays are copied: where they come from, they may not be written to."""
    net = IF2Net(Config.of(**{**part.settings, "device": device}))
    net.restore({name: torch.tensor(array) for name, array in part.arrays.items()}, part.classes, tasks=1)
    return net


class Worker:
    """Holds one learner, which starts empty and knows the frozen encoder that all of them share."""

    def __init__(self, empty: Part, reader: Reader, device: str, threads: int) -> None:
        torch.set_num_threads(threads)
        self.reader = reader
        self.device = device
        self.net = unpack(empty, device)

    def count(self, block: Any) -> Counted:
        """Learn what can be learned of a block."""
        columns = self.reader.columns
        arrays = arrays_of(block, columns)
        rows, refused = len(arrays[columns.names[0]]), {}
        if rows:
            samples = self.reader(arrays)
            refused = samples.refused
            if len(samples.y):
                self.net.learn(samples.X, samples.y)
        return Counted(fingerprint_of(arrays), rows, refused)

    def part(self) -> tuple[Part, bool]:
        """Everything counted so far, and a small second value to wait for without fetching the first."""
        return pack(self.net), True

    def merge(self, part: Part) -> bool:
        """Take over what another worker has counted."""
        self.net.merge(unpack(part, self.device))
        return True


def arrays_of(block: Any, columns: Columns) -> Arrays:
    """The columns of a block of a Ray Dataset."""
    from ray.data.block import BlockAccessor

    arrays = BlockAccessor.for_block(block).to_numpy(columns.names)
    assert isinstance(arrays, dict)
    return arrays


def fingerprint(block: Any, columns: Columns) -> str:
    """What tells a block from all that differ from it, wherever and whenever it is read."""
    return fingerprint_of(arrays_of(block, columns))


def fingerprint_of(arrays: Arrays) -> str:
    """A digest of the content.

    >>> import numpy as np
    >>> one, other = {"x": np.array([1, 2])}, {"x": np.array([1, 3])}
    >>> fingerprint_of(one) == fingerprint_of(one), fingerprint_of(one) == fingerprint_of(other)
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, values in arrays.items():
        digest.update(f"{name} ".encode())
        _add(digest, values)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    """Images of different sizes come as arrays inside an array, of which Python would not print every number."""
    if not isinstance(value, np.ndarray):
        digest.update(f"{value!r} ".encode())
        return
    digest.update(f"{value.dtype} {value.shape} ".encode())
    if value.dtype != object:
        digest.update(value.tobytes())
        return
    for one in value:
        _add(digest, one)
