"""Features of many image files: from the cache where they are known, else computed side by side and added to it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from if2net.errors import InputError
from if2net.images.cache import DIGEST, FeatureCache
from if2net.images.extractor import Extractor
from if2net.images.read import read_image
from if2net.progress import Show

# What is lost at most when the power fails, and how long a second process waits for the lock.
CHUNK = 1024


@dataclass(frozen=True)
class Features:
    """Rows for the images that could be read; why not, for the others."""

    X: np.ndarray
    kept: np.ndarray  # a mask over the paths
    refused: dict[Path, str]


def extract(
    paths: Sequence[Path], extractor: Extractor, cache: FeatureCache | None = None, show: Show | None = None
) -> Features:
    """The features of image files. A feature depends on its image alone: whatever else is extracted with it."""
    cache = cache or FeatureCache(extractor.identity)
    refused: dict[Path, str] = {}
    with workers(extractor) as pool:
        digests = np.zeros(len(paths), DIGEST)
        for index, digest in enumerate(pool.map(_digest, paths)):
            if isinstance(digest, bytes):
                digests[index] = digest
            else:
                refused[paths[index]] = digest
        readable = np.array([path not in refused for path in paths], dtype=bool)
        missing = np.flatnonzero(readable & ~cache.known(digests))
        done = len(paths) - len(missing)
        for start in range(0, len(missing), CHUNK):
            part = missing[start : start + CHUNK]
            with cache.lock():
                part = part[~cache.known(digests[part])]  # another process may have been quicker
                _, first = np.unique(digests[part], return_index=True)  # two copies of an image are one
                refused |= _compute(
                    [paths[int(index)] for index in part[first]], digests[part[first]], extractor, cache, pool
                )
            done += len(missing[start : start + CHUNK])
            if show is not None:
                show(done, len(paths))
    kept = readable & cache.known(digests)
    for path, mine, usable in zip(paths, kept, readable, strict=True):
        if usable and not mine:
            refused.setdefault(path, f"{path} has the content of another image that was refused.")
    return Features(cache.rows(digests[kept]), kept, refused)


def compute(paths: Sequence[Path], extractor: Extractor, pool: ThreadPoolExecutor) -> Iterator[np.ndarray | str]:
    """The features of each image, or why it was refused; without a cache.

    Every worker reads a batch and sends it through the network, so that reading and computing overlap. Batches are
    always of one size, since a network's last bits can depend on it. On a CPU every core has a worker;
    benchmarks/features.py compares the speed with torch eager.
    """
    size = extractor.batch_size
    framing = extractor.preprocessing.framing

    def work(batch: Sequence[Path]) -> list[np.ndarray | str]:
        pixels = np.zeros((size, framing.size, framing.size, 3), np.uint8)
        reasons: dict[int, str] = {}
        for place, path in enumerate(batch):
            try:
                pixels[place] = read_image(path, framing)
            except InputError as error:
                reasons[place] = str(error)
        rows = extractor(pixels) if len(reasons) < len(batch) else pixels
        name = extractor.backbone.name
        return [reasons.get(place) or _finite(rows[place], path, name) for place, path in enumerate(batch)]

    for results in pool.map(work, [paths[start : start + size] for start in range(0, len(paths), size)]):
        yield from results


def _finite(row: np.ndarray, path: Path, backbone: str) -> np.ndarray | str:
    """The features, or why they cannot be learned from."""
    if np.isfinite(row).all():
        return row
    return (
        f"{path} has features that are not finite numbers with the backbone {backbone}; leave it out, or choose "
        "another backbone."
    )


def _compute(
    paths: list[Path], digests: np.ndarray, extractor: Extractor, cache: FeatureCache, pool: ThreadPoolExecutor
) -> dict[Path, str]:
    """Add these features to the cache; what was refused comes back."""
    found = list(compute(paths, extractor, pool))
    good = [place for place, row in enumerate(found) if not isinstance(row, str)]
    if good:
        cache.add(digests[good], np.stack([found[place] for place in good]))
    return {path: row for path, row in zip(paths, found, strict=True) if isinstance(row, str)}


def _digest(path: Path) -> bytes | str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        return f"{path} cannot be opened ({error.strerror}); check the path and its permissions."


@contextmanager
def workers(extractor: Extractor) -> Iterator[ThreadPoolExecutor]:
    """A thread for every core, each of which computes on its own: they are not worth splitting one image between."""
    threads = torch.get_num_threads()
    count = threads if extractor.device.type == "cpu" else os.cpu_count() or 1
    try:
        torch.set_num_threads(1)
        with ThreadPoolExecutor(count) as pool:
            yield pool
    finally:
        torch.set_num_threads(threads)
