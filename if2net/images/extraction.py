"""Features of many image files: read from the cache, or computed in parallel and added to it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from if2net.errors import InputError
from if2net.images.cache import DIGEST, FeatureCache
from if2net.images.extractor import Extractor
from if2net.images.read import Framing, read_image
from if2net.progress import Show

# The most images whose features are computed between two writes to the cache. It bounds the work that a power cut
# loses, and the time that a second process waits for the lock. Ctrl-C loses only the unfinished batches.
CHUNK = 1024


@dataclass(frozen=True)
class Features:
    """The features of the images that could be used, and the reason for each of the others."""

    X: np.ndarray  # one row per image that could be used
    kept: np.ndarray  # a mask over the paths: the images that X has rows for
    left_out: dict[Path, str]


def extract(
    paths: Sequence[Path], extractor: Extractor, cache: FeatureCache | None = None, show: Show | None = None
) -> Features:
    """Return the features of image files.

    The features of an image depend on that image alone, not on the others that are extracted with it. Features that
    are finished when an error or Ctrl-C comes stay in the cache. `show` is called after every batch.
    """
    cache = cache or FeatureCache(extractor.identity)
    left_out: dict[Path, str] = {}
    with workers(extractor) as pool:
        digests = np.zeros(len(paths), DIGEST)
        for index, digest in enumerate(pool.map(_digest, paths)):
            if isinstance(digest, bytes):
                digests[index] = digest
            else:
                left_out[paths[index]] = digest
        readable = np.array([path not in left_out for path in paths], dtype=bool)
        missing = np.flatnonzero(readable & ~cache.known(digests))
        done = len(paths) - len(missing)

        def advance(images: int) -> None:
            nonlocal done
            done += images
            if show is not None and images:
                show(done, len(paths))

        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            with cache.lock():
                absent = chunk[~cache.known(digests[chunk])]  # another process may have added some meanwhile
                _, first = np.unique(digests[absent], return_index=True)  # identical files are computed once
                absent = absent[np.sort(first)]
                advance(len(chunk) - len(absent))
                new = [paths[index] for index in absent]
                left_out |= _compute_and_add(new, digests[absent], extractor, cache, pool, advance)
    kept = readable & cache.known(digests)
    for path, has_features, could_be_opened in zip(paths, kept, readable, strict=True):
        if could_be_opened and not has_features:
            left_out.setdefault(path, f"{path} has the same content as another image that was left out.")
    return Features(cache.rows(digests[kept]), kept, left_out)


def compute(
    images: Sequence[Any],
    extractor: Extractor,
    pool: ThreadPoolExecutor,
    read: Callable[[Any, Framing], np.ndarray] = read_image,
) -> Iterator[list[np.ndarray | str]]:
    """Yield batch by batch the features of each image, or the reason for leaving it out; without a cache.

    The images are paths, or anything else that `read` accepts. Each worker reads a batch and sends it through the
    network, so that reading and computing overlap. All batches have one size, because the last bits of a network's
    output can depend on it. On a CPU each core has a worker; benchmarks/features.py compares the speed with that of
    plain torch.
    """
    size = extractor.batch_size
    framing = extractor.preprocessing.framing

    def work(batch: Sequence[Any]) -> list[np.ndarray | str]:
        pixels = np.zeros((size, framing.size, framing.size, 3), np.uint8)
        reasons: dict[int, str] = {}
        for place, image in enumerate(batch):
            try:
                pixels[place] = read(image, framing)
            except InputError as error:
                reasons[place] = str(error)
        rows = extractor(pixels) if len(reasons) < len(batch) else pixels
        name = extractor.backbone.name
        return [reasons.get(place) or _finite(rows[place], image, name) for place, image in enumerate(batch)]

    yield from pool.map(work, [images[start : start + size] for start in range(0, len(images), size)])


@contextmanager
def workers(extractor: Extractor) -> Iterator[ThreadPoolExecutor]:
    """Give a pool with one thread per core. Work that has not begun is cancelled when the block ends.

    Each thread computes alone, because one image is too small to share among cores. The limit holds for these threads
    only: the number of threads that torch uses elsewhere in the process stays as it is.
    """
    count = torch.get_num_threads() if extractor.device.type == "cpu" else os.cpu_count() or 1
    pool = ThreadPoolExecutor(count, initializer=_compute_alone)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _compute_alone() -> None:
    torch.get_num_threads()  # torch sets up a thread at its first call, which would undo the limit
    threadpool_limits(1, user_api="openmp")  # OpenMP has one limit per calling thread


def _finite(row: np.ndarray, image: Any, backbone: str) -> np.ndarray | str:
    """Return the features, or the reason why they cannot be learned."""
    if np.isfinite(row).all():
        return row
    name = image if isinstance(image, Path) else "An image"
    return (
        f"{name} has features that are not finite numbers with the backbone {backbone}; leave it out, or choose "
        "another backbone."
    )


def _compute_and_add(
    paths: list[Path],
    digests: np.ndarray,
    extractor: Extractor,
    cache: FeatureCache,
    pool: ThreadPoolExecutor,
    advance: Callable[[int], None],
) -> dict[Path, str]:
    """Add the features of images to the cache, and return the images that were left out.

    All finished features become one file of the cache, also where an error or Ctrl-C ends the work early.
    """
    results: list[np.ndarray | str] = []
    try:
        for batch in compute(paths, extractor, pool):
            results += batch
            advance(len(batch))
    finally:
        usable = [place for place, row in enumerate(results) if not isinstance(row, str)]
        if usable:
            cache.add(digests[usable], np.stack([results[place] for place in usable]))
    return {path: reason for path, reason in zip(paths, results, strict=True) if isinstance(reason, str)}


def _digest(path: Path) -> bytes | str:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or a device would block or never end
            return f"{path} is not a regular file; leave it out."
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        return f"{path} cannot be opened ({error.strerror}); check the path and its permissions."
