"""From a Ray Dataset to a learner that knows it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from if2net import inputs
from if2net.cluster.backbones import Sight, sight_for
from if2net.cluster.connection import imported_ray, raised_here
from if2net.cluster.crew import Crew
from if2net.cluster.images import Images, images_to_learn
from if2net.cluster.reading import Reader, Samples, rows_to_learn
from if2net.cluster.worker import pack, unpack
from if2net.errors import ConfigurationError, InputError
from if2net.images.extractor import Extractor
from if2net.images.folders import BLOCK as FIRST
from if2net.images.folders import ImageFolders
from if2net.images.learning import LearnedImages
from if2net.learner import IF2Net
from if2net.progress import Show, counting
from if2net.tables import ROWS, Arrays, Table, feature_names

if TYPE_CHECKING:
    from ray.data import Dataset

# Image files in a block. Of the first images as many are here at once.
BLOCK = 256


@raised_here()
def learn(
    net: IF2Net,
    dataset: Dataset,
    label: str | None = None,
    *,
    backbone: str | Extractor | Sight | None = None,
    workers: int | None = None,
    first: int = ROWS,
    deaths: int = 10,
    report: Callable[[int], None] = lambda rows: None,
    refused: dict[Path, str] | None = None,
) -> IF2Net:
    """Learn a task from a Ray Dataset; the same as `net.learn` to rounding, whoever dies on the way.

    A learner that has learned before keeps its encoder. A new one takes it from the first `first` rows in the order
    of the dataset, whichever worker is quicker; it equals one that has learned these rows first and then the others.
    The columns are chosen as for tables: `label`, or the one named label, class, target or y, or the last one; every
    other one is a feature.

    With a `backbone`, such as efficientnet-lite0, the column `image` of pixels or `path` of files is turned into
    features by the workers, and the learner remembers the backbone. If the label is the column `path` that
    ray.data.read_images(..., include_paths=True, mode="RGB") adds, the folder of each image is its class. Files that
    cannot be read are left out and named in `refused`, or else in a warning.

    There is one worker a machine (or a GPU) unless said otherwise, since each keeps statistics of the full width. The
    rows of every block are reported as they are counted. So many `deaths` of workers are borne before it gives
    up. If anything is wrong with the data, the learner stays as it was.
    """
    device, count = _room(net, workers)
    new = net.encoder is None
    sight = sight_for(net, backbone, device) if backbone is not None or net.backbone is not None else None
    rows = _first_rows(dataset, first if new and sight is None else 1)
    if sight is None:
        reader: Reader = rows_to_learn(net, rows, label)
        beginning = reader(rows)
    else:
        reader = Images(images_to_learn(list(rows), label), sight.load)
        here = Images(reader.columns, lambda: sight.extractor)
        beginning = _first_samples(dataset, here, first) if new else Samples(np.empty((0, 0)), here.labels(rows))
    net.labels.extended(inputs.labels(beginning.y, len(beginning.y)))
    crew = Crew(
        pack(_empty(net, beginning)),
        reader,
        workers=count,
        device=device,
        threads=max(1, int(imported_ray().cluster_resources().get("CPU", 1)) // count),
        deaths=deaths,
        report=report,
    )
    try:
        total = unpack(crew.total(lambda: _blocks(dataset)), net.config.device)
    finally:
        crew.close()
    _tell(total, crew.refused, refused)
    net.merge(total)
    if sight is not None:
        net.backbone = sight.remembered
    elif new:
        net.feature_names = feature_names(rows, reader.columns)
    return net


def learn_tables(net: IF2Net, tables: Sequence[Table], **options: Any) -> IF2Net:
    """Learn tables as `net.learn` would on one machine; all machines must find the files under the same paths."""
    beginning, _ = next(iter(tables[0]))  # a new learner takes its encoder from the first piece there as well
    return learn(net, _dataset_of(tables), first=len(beginning), **options)


def learn_images(
    net: IF2Net,
    folders: Sequence[Path],
    backbone: str | None = None,
    *,
    workers: int | None = None,
    show: Show = lambda done, total, text="": None,
) -> LearnedImages:
    """Learn folders of images as on one machine; all machines must find them under the same paths.

    Images that could not be used are left out and named in the result.
    """
    sight = sight_for(net, backbone, _room(net, workers)[0])
    images = ImageFolders([folder.absolute() for folder in folders], sight.extractor)  # as the workers name them
    learn(
        net,
        _dataset_of_files(images.labels),
        backbone=sight,
        workers=workers,
        first=FIRST,
        report=counting(show, len(images.files)),
        refused=images.files.left_out,
    )
    return LearnedImages.of(images)


def _dataset_of(tables: Sequence[Table]) -> Dataset:
    """The rows of these tables, read wherever there is room."""
    ray = imported_ray()
    found = [replace(table, path=table.path.resolve()) for table in tables]

    def read(batch: Arrays) -> Iterator[Arrays]:
        for number in batch["item"]:
            for X, y in found[int(number)]:
                yield {"X": X, "y": y}

    numbers = ray.data.from_items(list(range(len(found))), override_num_blocks=len(found))
    return numbers.map_batches(read, batch_size=1)


def _dataset_of_files(labels: Mapping[Path, str]) -> Dataset:
    """Only their names: whoever counts an image reads it."""
    rows = [{"path": str(path.absolute()), "label": label} for path, label in labels.items()]
    return imported_ray().data.from_items(rows, override_num_blocks=math.ceil(len(rows) / BLOCK))


def _first_rows(dataset: Dataset, rows: int) -> Arrays:
    """The first rows in the order of the dataset, not those that happen to be read first."""
    try:
        with _in_order(dataset):
            return dataset.take_batch(rows, batch_format="numpy")
    except ValueError as error:
        if isinstance(error, imported_ray().exceptions.RayTaskError):
            raise  # not from here: reading has failed
        raise InputError("The dataset is empty; give at least one sample.") from error


def _first_samples(dataset: Dataset, images: Images, rows: int) -> Samples:
    """The first images as `_first_rows` has them, but of their pixels only a few are here at once."""
    limited = dataset.limit(rows)
    with _in_order(limited):
        batches = limited.iter_batches(batch_size=BLOCK, batch_format="numpy")
        found = [images(batch) for batch in batches]
    used = [samples for samples in found if len(samples.y)]
    if not used:
        raise InputError(f"None of the first images could be used: {next(iter(found[0].refused.values()))}")
    return Samples(np.concatenate([one.X for one in used]), np.concatenate([one.y for one in used]))


@contextmanager
def _in_order(dataset: Dataset) -> Iterator[None]:
    options = dataset.context.execution_options
    before = options.preserve_order
    options.preserve_order = True
    try:
        yield
    finally:
        options.preserve_order = before


def _empty(net: IF2Net, beginning: Samples) -> IF2Net:
    """A learner with the encoder that all workers share, which has learned nothing."""
    starting = net if net.encoder is not None else IF2Net(net.config).learn(beginning.X, beginning.y)
    empty = starting.fork()
    return empty.merge(empty.fork())  # a rule that cannot merge says so now rather than at the end


def _tell(total: IF2Net, found: dict[Path, str], refused: dict[Path, str] | None) -> None:
    """Name the images that were left out."""
    if not len(total.labels):
        raise InputError(f"No image could be used: {next(iter(found.values()))}")
    if refused is not None:
        refused.update(found)
    elif found:
        warnings.warn(f"{len(found):,} images were left out, such as: {next(iter(found.values()))}", stacklevel=2)


def _room(net: IF2Net, workers: int | None) -> tuple[str, int]:
    """Where workers compute, and how many there are to be."""
    ray = imported_ray()
    if not ray.is_initialized():
        raise ConfigurationError("Ray is not running: call `if2net.cluster.connect()` or `ray.init()` first.")
    gpus = int(imported_ray().cluster_resources().get("GPU", 0))
    if net.config.device == "cpu" or not gpus:
        return "cpu", workers or max(1, sum(node["Alive"] for node in ray.nodes()))
    if workers is not None and workers > gpus:
        raise ConfigurationError(f"There are {gpus} GPUs for {workers} workers; ask for fewer, or for device='cpu'.")
    return "cuda", workers or gpus


def _blocks(dataset: Dataset) -> Iterator[Any]:
    """References to the blocks of the dataset, as they are read; nothing comes here."""
    for bundle in dataset.iter_internal_ref_bundles():
        yield from bundle.block_refs
