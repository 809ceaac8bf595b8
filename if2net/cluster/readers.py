"""From the columns of a block to samples: numbers as they are, images as features of a backbone."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePath

import numpy as np

from if2net.cluster.connection import import_ray
from if2net.errors import ConfigurationError, InputError
from if2net.images.cache import FeatureCache
from if2net.images.extraction import compute, extract, workers
from if2net.images.extractor import Extractor, load_extractor
from if2net.images.folders import check_unseen
from if2net.images.model_backbone import BackboneRecord, extractor_for
from if2net.images.read import frame_pixels
from if2net.learner import IF2Net
from if2net.tables.columns import Arrays, Columns, columns_to_learn, features_of, labels_of

# The columns of ray.data.read_images: the pixels, and the files that they come from.
IMAGE, PATH = "image", "path"


@dataclass(frozen=True)
class Samples:
    """The samples of a block that can be learned, and the reason for each image that was left out."""

    X: np.ndarray
    y: np.ndarray
    left_out: dict[Path, str] = field(default_factory=dict)


class Reader:
    """Reads columns of numbers or of vectors. Every worker gets a copy."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def __call__(self, arrays: Arrays) -> Samples:
        return Samples(features_of(arrays, self.columns), self.labels(arrays))

    def labels(self, arrays: Arrays) -> np.ndarray:
        return labels_of(arrays, self.columns)


class ImageReader(Reader):
    """Reads a column of pixels or of paths, and computes the features of the images.

    The extractor is loaded when first used, so that a reader is small when it is sent to a worker.
    """

    def __init__(self, columns: Columns, load: Callable[[], Extractor]) -> None:
        super().__init__(columns)
        self.load = load

    @cached_property
    def extractor(self) -> Extractor:
        return self.load()

    @cached_property
    def cache(self) -> FeatureCache:
        return FeatureCache(self.extractor.identity)

    def __call__(self, arrays: Arrays) -> Samples:
        images, labels = arrays[self.columns.features[0]], self.labels(arrays)
        check_unseen(labels.tolist(), self.extractor.backbone)
        if not isinstance(images[0], str):
            return Samples(self._features(images), labels)
        paths = [Path(path) for path in images]
        if missing := [path for path in paths if not os.path.lexists(path)]:
            raise InputError(
                f"There is no file {missing[0]} on the machine {socket.gethostname()}; every machine must find the "
                "images under the same paths."
            )
        features = extract(paths, self.extractor, self.cache)
        return Samples(features.X, labels[features.kept], features.left_out)

    def labels(self, arrays: Arrays) -> np.ndarray:
        """Return the labels. If the label is the column of paths, the folder of a file is its class."""
        labels = super().labels(arrays)
        return np.array([PurePath(path).parent.name for path in labels]) if self.columns.label == PATH else labels

    def _features(self, images: np.ndarray) -> np.ndarray:
        """Return the features of images in memory, or raise an error if one of them cannot be used."""
        with workers(self.extractor) as pool:
            rows = [row for batch in compute(list(images), self.extractor, pool, frame_pixels) for row in batch]
        for row in rows:
            if isinstance(row, str):
                raise InputError(row)
        return np.stack(rows)


def row_columns(net: IF2Net, first: Arrays, label: str | None) -> Columns:
    """Choose the label and the features of a dataset that begins with these rows, or say what is missing."""
    if IMAGE in first and (first[IMAGE].dtype == object or first.keys() <= {IMAGE, PATH}):
        raise InputError(
            f"The column {IMAGE!r} holds images; set `backbone` to a network that turns them into "
            "features, such as backbone='efficientnet-lite0'."
        )
    if len(first) == 1:
        raise InputError(f"The dataset has no column besides {next(iter(first))!r}; add a column of labels.")
    single = all(array.ndim == 1 for array in first.values())
    columns = columns_to_learn(list(first), label, net.feature_names if single else None)
    if first[columns.names[-1]].ndim > 1:
        raise InputError(
            f"The column {columns.label!r} holds vectors, which cannot be labels; set `label` to the column of the "
            "classes, or add one."
        )
    return columns


def image_columns(names: Sequence[str], label: str | None) -> Columns:
    """Choose the column of the images, `image` or `path`, and the label as in a table.

    >>> image_columns(["image", "path"], None).label
    'path'
    """
    images = next((name for name in (IMAGE, PATH) if name in names), None)
    if images is None:
        raise InputError(
            f"A backbone needs a column {IMAGE!r} of pixels or {PATH!r} of image files, but the columns are "
            f"{', '.join(map(repr, names))}; rename the column of the images, or leave out the backbone."
        )
    others = [name for name in names if name != images]
    if not others or label == images:
        raise InputError(
            f"There are no labels besides the column {images!r}; add a column of labels, or read the images with "
            "ray.data.read_images(..., include_paths=True), so that the folder of each image is its class."
        )
    return Columns((images,), columns_to_learn([images, *others], label).label)


def cluster_backbone(
    net: IF2Net, backbone: str | Extractor | None, device: str
) -> tuple[Extractor, Callable[[], Extractor], BackboneRecord]:
    """Return the given extractor, or that of the model's backbone.

    With it come the function that loads it in a worker, for this device, and the record that the model keeps.
    """
    extractor, record = extractor_for(net, backbone, net.config.torch_device)
    if not isinstance(backbone, Extractor):
        return extractor, partial(_load_same, record, device), record
    if extractor.device.type != "cpu" and device == "cpu":
        raise ConfigurationError(
            f"The extractor of {extractor.backbone.name} computes on a GPU, but the workers have none; create it "
            "with device='cpu'."
        )
    return extractor, _sent(extractor), record


def _load_same(record: BackboneRecord, device: str) -> Extractor:
    """Load a backbone in a worker. On another machine, the same text may name other weights."""
    extractor = load_extractor(record["text"], device)
    if extractor.identity != record["identity"]:
        raise ConfigurationError(
            f"The backbone {record['text']} on the machine {socket.gethostname()} differs from the one that "
            "was asked for; install the same one on every machine."
        )
    return extractor


def _sent(extractor: Extractor) -> Callable[[], Extractor]:
    """Put an extractor into Ray's object store, and return the function that gets it in a worker."""
    ray = import_ray()
    # The values of single threads are not sent. The threads of a worker create their own.
    ray.util.register_serializer(threading.local, serializer=lambda _: None, deserializer=lambda _: threading.local())
    try:
        return partial(ray.get, ray.put(extractor))
    except Exception as error:  # a foreign network raises any error
        raise ConfigurationError(
            f"The backbone {extractor.backbone.name} cannot be sent to the workers; give it as text, such as "
            "backbone='network.onnx', so that every worker loads it."
        ) from error
    finally:
        ray.util.deregister_serializer(threading.local)
