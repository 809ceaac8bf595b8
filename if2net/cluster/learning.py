"""Learning from Ray Datasets, tables and folders of images on a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from if2net import inputs
from if2net.cluster.connection import import_ray, unwrapped_errors
from if2net.cluster.pool import WorkerPool
from if2net.cluster.readers import ImageReader, Reader, Samples, cluster_backbone, image_columns, row_columns
from if2net.errors import ConfigurationError, InputError, warn
from if2net.images.extractor import Extractor
from if2net.images.folders import BLOCK as FIRST_IMAGES
from if2net.images.folders import ImageFolders, list_classes
from if2net.images.learning import LearnedImages
from if2net.images.model_backbone import extractor_for
from if2net.learner import IF2Net
from if2net.progress import Show, counting
from if2net.tables import ROWS, Table
from if2net.tables.columns import Arrays, feature_names

if TYPE_CHECKING:
    from ray.data import Dataset

# Image files per block, and images in memory at a time when the first ones are read.
IMAGES_PER_BLOCK = 256


@unwrapped_errors()
def learn(
    net: IF2Net,
    dataset: Dataset,
    label: str | None = None,
    *,
    backbone: str | Extractor | None = None,
    workers: int | None = None,
    first: int = ROWS,
    failures: int = 10,
    report: Callable[[int], None] = lambda rows: None,
    left_out: dict[Path, str] | None = None,
) -> IF2Net:
    """Learn a Ray Dataset as one task.

    The result equals that of `IF2Net.learn` up to rounding, also when workers fail. The dataset may be larger than
    the memory of all machines. If it cannot be used, the learner is unchanged.

    Parameters
    ----------
    net : IF2Net
        A learner with the analytic rule. If it has learned before, it keeps its encoder.
    dataset : ray.data.Dataset
        Columns of numbers or vectors. With a backbone, a column `image` of pixels or `path` of image files.
    label : str, optional
        The column of the labels. The default is the column named label, class, target or y, or else the last one. If
        it is the column `path` of ``ray.data.read_images(..., include_paths=True, mode="RGB")``, the folder of each
        image is its class.
    backbone : str or Extractor, optional
        The network that turns images into features, such as ``"efficientnet-lite0"``. The workers compute the
        features, and the learner remembers the backbone.
    workers : int, optional
        The number of workers. Each needs memory for statistics of the full width. The default is one per GPU, or one
        per machine.
    first : int, default=4096
        A new learner takes its encoder from this many rows, the first in the order of the dataset.
    failures : int, default=10
        The number of failures of workers after which an error is raised. The blocks of a worker that fails are
        counted again.
    report : callable, optional
        Called with the number of rows of each block that was counted.
    left_out : dict of Path to str, optional
        Filled with the image files that could not be read, and the reasons. Without it, a warning is given.

    Returns
    -------
    IF2Net
        The learner `net`.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> from if2net import IF2Net, cluster
    >>> cluster.connect()  # doctest: +SKIP
    >>> cluster.learn(IF2Net(seed=0), ray.data.read_parquet("birds/"), label="species")  # doctest: +SKIP
    """
    device, count = _placement(net, workers)
    new, record = net.encoder is None, None
    if backbone is None and net.backbone is None:
        rows = _first_rows(dataset, first if new else 1)
        reader = Reader(row_columns(net, rows, label))
        start = reader(rows)
    else:
        extractor, load, record = cluster_backbone(net, backbone, device)
        rows = _first_rows(dataset, 1)
        reader = ImageReader(image_columns(list(rows), label), load)
        here = ImageReader(reader.columns, lambda: extractor)
        start = _first_images(dataset, here, first) if new else Samples(np.empty((0, 0)), here.labels(rows))
    net.labels.extended(inputs.labels(start.y, len(start.y)))  # refuses labels that do not fit before any work
    empty = (IF2Net(net.config).learn(start.X, start.y) if new else net).fork()
    empty.merge(empty.fork())  # refuses rules that cannot merge
    with closing(WorkerPool(empty, reader, count, device, failures, report)) as pool:
        total = pool.total(lambda: _blocks(dataset)).unpack(net.config.device)
    if not len(total.labels):
        raise InputError(f"No image could be used: {next(iter(pool.left_out.values()))}")
    net.merge(total)
    if record is not None:
        net.backbone = record
    elif new:
        net.feature_names = feature_names(rows, reader.columns)
    if left_out is not None:
        left_out.update(pool.left_out)
    elif pool.left_out:
        reason = next(iter(pool.left_out.values()))
        warn(f"{len(pool.left_out):,} images were left out, such as: {reason}")
    return net


def learn_tables(net: IF2Net, tables: Sequence[Table], **options: Any) -> IF2Net:
    """Learn tables as one task, with the same result as on one machine.

    Parameters
    ----------
    net : IF2Net
        A learner with the analytic rule.
    tables : sequence of Table
        Tables from `if2net.tables.tables_to_learn`. All machines must find the files under the same paths.
    **options
        The options `workers`, `failures` and `report` of `learn`.

    Returns
    -------
    IF2Net
        The learner `net`.
    """
    resolved = [replace(table, path=table.path.resolve()) for table in tables]

    def read(batch: Arrays) -> Iterator[Arrays]:
        for number in batch["item"]:
            for X, y in resolved[int(number)]:
                yield {"X": X, "y": y}

    numbers = import_ray().data.from_items(list(range(len(tables))), override_num_blocks=len(tables))
    piece, _ = next(iter(tables[0]))  # as on one machine, a new learner takes its encoder from the first piece
    return learn(net, numbers.map_batches(read, batch_size=1), first=len(piece), **options)


def learn_images(
    net: IF2Net,
    folders: Sequence[Path],
    backbone: str | None = None,
    *,
    workers: int | None = None,
    show: Show = lambda done, total, text="": None,
) -> LearnedImages:
    """Learn folders of images that have one sub-folder per class, with the same result as on one machine.

    Parameters
    ----------
    net : IF2Net
        A learner with the analytic rule.
    folders : sequence of Path
        Folders of images. All machines must find them under the same paths.
    backbone : str, optional
        The network that computes the features, as in `if2net.learn_images`.
    workers : int, optional
        The number of workers. The default is one per GPU, or one per machine.
    show : callable, optional
        Called as ``show(done, total)`` after each block of images.

    Returns
    -------
    LearnedImages
        The number of images learned per class, and the files that could not be used.
    """
    extractor, record = extractor_for(net, backbone)
    labels, left_out = list_classes([folder.absolute() for folder in folders])
    images = ImageFolders(labels, extractor, left_out=left_out)
    rows = [{"path": str(path), "label": label} for path, label in images.labels.items()]
    dataset = import_ray().data.from_items(rows, override_num_blocks=math.ceil(len(rows) / IMAGES_PER_BLOCK))
    settings: dict[str, Any] = {"backbone": record["text"], "workers": workers, "first": FIRST_IMAGES}
    learn(net, dataset, report=counting(show, len(rows)), left_out=images.left_out, **settings)
    return LearnedImages.of(images)


def _blocks(dataset: Dataset) -> Iterator[Any]:
    """Yield references to the blocks of a dataset while it is read. The blocks themselves do not come here."""
    for bundle in dataset.iter_internal_ref_bundles():
        yield from bundle.block_refs


def _first_batches(dataset: Dataset, rows: int, size: int) -> Iterator[Arrays]:
    """Yield the first rows in the order of the dataset, rather than in the order in which blocks are finished."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        yield from dataset.limit(rows).iter_batches(batch_size=size, batch_format="numpy")
    finally:
        options.preserve_order = before


def _first_rows(dataset: Dataset, rows: int) -> Arrays:
    for batch in list(_first_batches(dataset, rows, rows)):
        return batch
    raise InputError("The dataset is empty; give at least one sample.")


def _first_images(dataset: Dataset, reader: ImageReader, rows: int) -> Samples:
    """Return the features of the first images. Only a few images are in memory at a time."""
    parts = [reader(batch) for batch in _first_batches(dataset, rows, IMAGES_PER_BLOCK)]
    usable = [part for part in parts if len(part.y)]
    if not usable:
        raise InputError(f"None of the first images could be used: {next(iter(parts[0].left_out.values()))}")
    return Samples(np.concatenate([part.X for part in usable]), np.concatenate([part.y for part in usable]))


def _placement(net: IF2Net, workers: int | None) -> tuple[str, int]:
    """Return the device of the workers, and their number."""
    ray = import_ray()
    if not ray.is_initialized():
        raise ConfigurationError("Ray is not running; call `if2net.cluster.connect()` or `ray.init()` first.")
    gpus = int(ray.cluster_resources().get("GPU", 0))
    if net.config.device == "cpu" or not gpus:
        return "cpu", workers or max(1, sum(node["Alive"] for node in ray.nodes()))
    if workers is not None and workers > gpus:
        raise ConfigurationError(
            f"The cluster has {gpus} GPUs for {workers} workers; use fewer workers, or device='cpu'."
        )
    return "cuda", workers or gpus
