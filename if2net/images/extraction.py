"""Features of many image files: read from the cache, or computed in parallel and added to it."""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from if2net.errors import InputError
from if2net.images.cache import FeatureCache
from if2net.images.extractor import Extractor
from if2net.images.read import Framing, check_file, read_image
from if2net.progress import Show

# Images that are looked up in the cache and computed together, per worker. More of them would delay the first result;
# with fewer, the workers would wait for each other more often.
IMAGES_PER_WORKER = 64
# Seconds between two writes to the cache: a killed process loses no more work. Ctrl-C loses nothing, because batches
# that have begun are finished, which takes a fraction of a second, and stored.
PAUSE = 1.0

Result = tuple[list[int], np.ndarray | str]  # the places of images with the same content; their features, or a reason


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

    The features of an image depend on that image alone, not on the others that are extracted with it. Batches that
    have begun when an error or Ctrl-C comes are finished and stay in the cache. `show` is called at the start, after
    each image that is computed, and once for the images of a chunk that are in the cache.
    """
    X, kept = np.empty((len(paths), 0), np.float32), np.zeros(len(paths), bool)
    left_out: dict[Path, str] = {}
    done = 0
    if show is not None:
        show(0, len(paths))
    cache = cache or FeatureCache(extractor.identity)
    with workers(extractor) as pool, closing(_results(paths, extractor, cache, pool)) as batches:
        for batch in batches:
            for places, row in batch:
                done += len(places)
                if isinstance(row, str):
                    left_out |= _reasons([paths[place] for place in places], row)
                    continue
                if not X.shape[1]:
                    X = np.empty((len(paths), len(row)), np.float32)
                X[places], kept[places] = row, True
            if show is not None:
                show(done, len(paths))
    ordered = {path: left_out[path] for path in paths if path in left_out}
    return Features(X if kept.all() else X[kept], kept, ordered)


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
    yield from pool.map(lambda batch: _features(batch, extractor, read), _batches(images, extractor))


def _batches(images: Sequence[Any], extractor: Extractor) -> list[Sequence[Any]]:
    size = extractor.batch_size
    return [images[start : start + size] for start in range(0, len(images), size)]


def _features(
    batch: Sequence[Any], extractor: Extractor, read: Callable[[Any, Framing], np.ndarray] = read_image
) -> list[np.ndarray | str]:
    framing = extractor.preprocessing.framing
    pixels = np.zeros((extractor.batch_size, framing.size, framing.size, 3), np.uint8)
    reasons: dict[int, str] = {}
    for place, image in enumerate(batch):
        try:
            pixels[place] = read(image, framing)
        except InputError as error:
            reasons[place] = str(error)
    rows = extractor(pixels) if len(reasons) < len(batch) else pixels
    name = extractor.backbone.name
    return [reasons.get(place) or _finite(rows[place], image, name) for place, image in enumerate(batch)]


@contextmanager
def workers(extractor: Extractor) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool with one thread per core. Work that has not begun is cancelled when the block ends.

    Each thread computes alone, because one image is too small to share among cores. The limit holds for these threads
    only: the number of threads that torch uses elsewhere in the process stays as it is.
    """
    pool = ThreadPoolExecutor(_threads(extractor), initializer=_compute_alone)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _threads(extractor: Extractor) -> int:
    return torch.get_num_threads() if extractor.device.type == "cpu" else os.cpu_count() or 1


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


def _results(
    paths: Sequence[Path], extractor: Extractor, cache: FeatureCache, pool: ThreadPoolExecutor
) -> Generator[list[Result], None, None]:
    """Yield all results, chunk by chunk in random order, so that processes with the same images share the work."""
    size = max(IMAGES_PER_WORKER, 2 * extractor.batch_size) * _threads(extractor)
    chunks = [range(len(paths))[start : start + size] for start in range(0, len(paths), size)]
    random.Random().shuffle(chunks)
    for chunk in chunks:
        places: dict[bytes, list[int]] = {}  # by the digest of the content
        known: list[Result] = []
        for place, digest in zip(chunk, pool.map(_digest, paths[chunk.start : chunk.stop]), strict=True):
            if isinstance(digest, bytes):
                places.setdefault(digest, []).append(place)
            else:
                known.append(([place], digest))
        known += [(places.pop(digest), row) for digest, row in cache.rows(list(places))]
        if known:
            yield known
        batches = [
            {digest: paths[places[digest][0]] for digest in batch} for batch in _batches(list(places), extractor)
        ]
        for digest, row in _computed(batches, extractor, cache, pool):
            yield [(places[digest], row)]


def _computed(
    batches: list[dict[bytes, Path]], extractor: Extractor, cache: FeatureCache, pool: ThreadPoolExecutor
) -> Iterator[tuple[bytes, np.ndarray | str]]:
    """Yield the result of each image as soon as its batch is computed, and add its features to the cache.

    The features of all batches that have begun are added, even if an error comes before the end.
    """
    running = {pool.submit(_features, list(batch.values()), extractor): list(batch) for batch in batches}
    new: dict[bytes, np.ndarray] = {}
    written = time.monotonic()
    try:
        for future in as_completed(list(running)):
            rows = dict(zip(running.pop(future), future.result(), strict=True))
            new |= _usable(rows)
            if time.monotonic() - written > PAUSE:
                cache.add(new)
                new, written = {}, time.monotonic()
            yield from rows.items()
    finally:
        begun = {future: digests for future, digests in running.items() if not future.cancel()}
        try:
            wait(begun)
        finally:
            for future, digests in begun.items():
                if future.done() and future.exception() is None:
                    new |= _usable(dict(zip(digests, future.result(), strict=True)))
            cache.add(new)


def _usable(rows: dict[bytes, np.ndarray | str]) -> dict[bytes, np.ndarray]:
    return {digest: row for digest, row in rows.items() if not isinstance(row, str)}


def _reasons(paths: list[Path], reason: str) -> dict[Path, str]:
    """Return the reasons for leaving out images with the same content, of which only the first was read."""
    first = paths[0]
    return {path: f"{path} has the same content as {first}, which was left out." for path in paths} | {first: reason}


def _digest(path: Path) -> bytes | str:
    try:
        check_file(path)
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except InputError as error:
        return str(error)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return f"{path} cannot be opened ({reason}); check the path and its permissions."
