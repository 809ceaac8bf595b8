"""Images on a cluster: every worker loads the backbone once, and turns the images of its blocks into features."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from if2net.cluster.backbones import Load
from if2net.cluster.reading import IMAGE, PATH, Samples
from if2net.errors import ConfigurationError, InputError
from if2net.images.cache import FeatureCache
from if2net.images.extraction import extract, workers
from if2net.images.extractor import Extractor
from if2net.images.read import Framing
from if2net.tables import Arrays, Columns, columns_to_learn, labels_of


class Images:
    """Reads a column of pixels, or of paths: files are read by the workers, as `if2net learn` would read them."""

    def __init__(self, columns: Columns, load: Load) -> None:
        self.columns, self.load = columns, load

    @cached_property
    def extractor(self) -> Extractor:
        return self.load()

    @cached_property
    def cache(self) -> FeatureCache:
        return _UnlockedCache(self.extractor.identity)

    def __call__(self, arrays: Arrays) -> Samples:
        images, labels = arrays[self.columns.features[0]], self.labels(arrays)
        self._check_unseen(labels)
        if not isinstance(images[0], str):
            return Samples(self._features(images), labels)
        paths = [Path(path) for path in images]
        _check_here(paths)
        found = extract(paths, self.extractor, self.cache)
        return Samples(found.X, labels[found.kept], found.left_out)

    def labels(self, arrays: Arrays) -> np.ndarray:
        """Of the column of labels; where that is the path, the folder of a file is its class."""
        labels = labels_of(arrays, self.columns)
        return np.array([PurePath(path).parent.name for path in labels]) if self.columns.label == PATH else labels

    def _features(self, images: np.ndarray) -> np.ndarray:
        """Of pixels. Batches are always of one size, as in `extraction.compute`."""
        size, framing = self.extractor.batch_size, self.extractor.preprocessing.framing

        def work(start: int) -> np.ndarray:
            batch = images[start : start + size]
            pixels = np.zeros((size, framing.size, framing.size, 3), np.uint8)
            for place, image in enumerate(batch):
                pixels[place] = framed(image, framing)
            return self.extractor(pixels)[: len(batch)]

        with workers(self.extractor) as pool:
            return np.concatenate(list(pool.map(work, range(0, len(images), size))))

    def _check_unseen(self, labels: np.ndarray) -> None:
        backbone = self.extractor.backbone
        if again := sorted(set(labels.tolist()).intersection(backbone.seen_classes)):
            raise ConfigurationError(
                f"{backbone.name} was trained on {again[0]!r}, which may not be learned again; "
                "leave this class out, or choose another backbone."
            )


def images_to_learn(names: Sequence[str], label: str | None) -> Columns:
    """The column of images, `image` or `path`, and that of the labels, chosen as for tables.

    >>> images_to_learn(["image", "path"], None)
    Columns(features=('image',), label='path')
    """
    found = [name for name in (IMAGE, PATH) if name in names]
    if not found:
        raise InputError(
            f"A backbone needs a column {IMAGE!r} of pixels or {PATH!r} of image files, and there are only "
            f"{', '.join(map(repr, names))}; rename the column that holds the images, or leave the backbone out."
        )
    others = [name for name in names if name != found[0]]
    if not others or label == found[0]:
        raise InputError(
            f"There are no labels beside the column {found[0]!r}; add a column of them, or read the images with "
            "ray.data.read_images(..., include_paths=True): then the folder of each is its class."
        )
    return Columns((found[0],), columns_to_learn([found[0], *others], label).label)


def framed(image: np.ndarray, framing: Framing) -> np.ndarray:
    """An image in memory as size × size × 3 bytes: what `read_image` gives, had it come from such a file.

    >>> framed(np.full((20, 30), 7, np.uint8), Framing(8, 8)).shape
    (8, 8, 3)
    """
    from PIL import Image  # whoever has images in memory has read them with it

    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or image.shape[2:] not in ((), (1,), (3,)):
        raise InputError(
            f"An image must be height × width × 3 bytes, but one has the shape {image.shape} of {image.dtype}; "
            "convert it, for example with ray.data.read_images(..., mode='RGB')."
        )
    height, width = image.shape[:2]
    colours = np.broadcast_to(image.reshape(height, width, -1), (height, width, 3))
    box = framing.box(width, height)
    picture = Image.fromarray(np.ascontiguousarray(colours))
    return np.asarray(picture.resize((framing.size,) * 2, Image.Resampling.BICUBIC, box, reducing_gap=2.0))


class _UnlockedCache(FeatureCache):
    """Workers do not wait for each other: they share hardly any image, and one that is added twice does no harm."""

    def lock(self) -> Any:
        return nullcontext()


def _check_here(paths: Sequence[Path]) -> None:
    if absent := [path for path in paths if not os.path.lexists(path)]:
        raise InputError(
            f"There is no file {absent[0]} on the machine {socket.gethostname()}; every machine must find the images "
            "under the same paths."
        )
