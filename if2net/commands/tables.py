"""learn and predict, given tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from if2net.commands.model import Samples
    from if2net.learner import IF2Net
    from if2net.tables import Table

COLUMNS = ("file", "row")


def learn_tables(
    net: IF2Net, paths: Sequence[Path], label: str | None, cluster: str | None, workers: int | None
) -> None:
    """Here, or on a cluster; what is wrong with a table is found before anything is learned."""
    from if2net.images.remembered import check_tables
    from if2net.tables import tables_to_learn

    check_tables(net)
    tables = tables_to_learn(paths, label, net.feature_names, net.labels.known)
    with _progress() as report:
        _learn(net, tables, cluster, workers, report)
    net.feature_names = net.feature_names or tables[0].feature_names


def rows_to_predict(net: IF2Net, paths: Sequence[Path], label: str | None) -> Samples:
    """Every row of the tables, with its place: COLUMNS."""
    from if2net.images.remembered import check_tables
    from if2net.tables import table_to_predict

    check_tables(net)
    return _rows([table_to_predict(path, label, net.feature_names) for path in paths])


def _rows(tables: list[Table]) -> Samples:
    for table in tables:
        row = 1
        for X, _ in table:
            yield [(table.path, row + place) for place in range(len(X))], X
            row += len(X)


def _learn(
    net: IF2Net, tables: list[Table], address: str | None, workers: int | None, report: Callable[[int], None]
) -> None:
    if address is None:
        from if2net.tables import Stream

        net.learn(Stream(tables, report))
        return
    from if2net import cluster

    cluster.connect(address)
    cluster.learn_tables(net, tables, workers=workers, report=report)


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Shows how many samples have been learned, on a terminal."""
    from rich.console import Console

    seen = 0
    with Console(stderr=True).status("learning …") as status:

        def report(samples: int) -> None:
            nonlocal seen
            seen += samples
            status.update(f"learning … {seen:,} samples")

        yield report
