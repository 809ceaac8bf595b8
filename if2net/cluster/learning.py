"""From a Ray Dataset to a learner that knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from if2net.cluster.connection import imported_ray, raised_here
from if2net.cluster.crew import Crew
from if2net.cluster.worker import pack, unpack
from if2net.data.columns import Arrays, Columns, columns_to_learn, feature_names, features_of, labels_of
from if2net.data.npy import ROWS
from if2net.data.tables import Table
from if2net.errors import ConfigurationError, InputError
from if2net.learner import IF2Net

if TYPE_CHECKING:
    from ray.data import Dataset


@raised_here()
def learn(
    net: IF2Net,
    dataset: Dataset,
    label: str | None = None,
    *,
    workers: int | None = None,
    first: int = ROWS,
    deaths: int = 10,
    report: Callable[[int], None] = lambda samples: None,
) -> IF2Net:
    """Learn a task from a Ray Dataset; the same as `net.learn` to rounding, whoever dies on the way.

    A learner that has learned before keeps its encoder. A new one takes it from the first `first` rows in the order
    of the dataset, whichever worker is quicker; it equals one that has learned these rows first and then the others.
    The columns are chosen as for tables: `label`, or the one named label, class, target or y, or the last one; every
    other one is a feature. To learn from images, map them to features with `dataset.map_batches` first.

    There is one worker a machine (or a GPU) unless said otherwise, since each keeps statistics of the full width. The
    samples of every block are reported as they are counted. So many `deaths` of workers are borne before it gives
    up. If anything is wrong with the data, the learner stays as it was.
    """
    ray = imported_ray()
    if not ray.is_initialized():
        raise ConfigurationError("Ray is not running: call `if2net.cluster.connect()` or `ray.init()` first.")
    beginning = _first_rows(dataset, first if net.encoder is None else 1)
    single = all(array.ndim == 1 for array in beginning.values())
    columns = columns_to_learn(list(beginning), label, net.feature_names if single else None)
    net.labels.check(labels_of(beginning, columns))
    empty = _empty(net, beginning, columns)
    device, count = _room(net, workers)
    crew = Crew(
        pack(empty),
        columns,
        workers=count,
        device=device,
        threads=max(1, int(ray.cluster_resources().get("CPU", 1)) // count),
        deaths=deaths,
        report=report,
    )
    try:
        total = unpack(crew.total(lambda: _blocks(dataset)), net.config.device)
    finally:
        crew.close()
    new = net.encoder is None
    net.merge(total)
    if new:
        net.feature_names = feature_names(beginning, columns)
    return net


def learn_tables(net: IF2Net, tables: Sequence[Table], **options: Any) -> IF2Net:
    """Learn tables as `net.learn` would on one machine; all machines must find the files under the same paths."""
    beginning, _ = next(iter(tables[0]))  # a new learner takes its encoder from the first piece there as well
    return learn(net, _dataset_of(tables), first=len(beginning), **options)


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


def _first_rows(dataset: Dataset, rows: int) -> Arrays:
    """The first rows in the order of the dataset, not those that happen to be read first."""
    options = dataset.context.execution_options
    before = options.preserve_order
    options.preserve_order = True
    try:
        return dataset.take_batch(rows, batch_format="numpy")
    except ValueError as error:
        if isinstance(error, imported_ray().exceptions.RayTaskError):
            raise  # not from here: reading has failed
        raise InputError("The dataset is empty; give at least one sample.") from error
    finally:
        options.preserve_order = before


def _empty(net: IF2Net, beginning: Arrays, columns: Columns) -> IF2Net:
    """A learner with the encoder that all workers share, which has learned nothing."""
    starting = net
    if net.encoder is None:
        starting = IF2Net(net.config).learn(features_of(beginning, columns), labels_of(beginning, columns))
    empty = starting.fork()
    return empty.merge(empty.fork())  # a rule that cannot merge says so now rather than at the end


def _room(net: IF2Net, workers: int | None) -> tuple[str, int]:
    """Where workers compute, and how many there are to be."""
    ray = imported_ray()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    if net.config.device == "cpu" or not gpus:
        return "cpu", workers or max(1, sum(node["Alive"] for node in ray.nodes()))
    if workers is not None and workers > gpus:
        raise ConfigurationError(f"There are {gpus} GPUs for {workers} workers; ask for fewer, or for device='cpu'.")
    return "cuda", workers or gpus


def _blocks(dataset: Dataset) -> Iterator[Any]:
    """References to the blocks of the dataset, as they are read; nothing comes here."""
    for bundle in dataset.iter_internal_ref_bundles():
        yield from bundle.block_refs
