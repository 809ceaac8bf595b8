"""Results as text: the columns of tables, their cells, and tables in markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.filesize import decimal


@dataclass(frozen=True)
class Metric:
    """A column of the tables: heading, key in the summary, factor, digits, and whether the best method is marked.

    For BWT and FWT no method is marked, because one that learns nothing has nothing to forget.
    """

    heading: str
    key: str
    factor: int
    digits: int
    compared: bool

    def cell(self, entry: Mapping[str, float]) -> str:
        """Return the mean ± standard deviation over the seeds, from the summary of a method."""
        mean, deviation = (self.factor * entry[f"{self.key}_{kind}"] for kind in ("mean", "std"))
        return spread(mean, deviation, self.digits, int(entry["runs"]))


ACC = Metric("ACC %", "acc", 100, 2, True)
BWT = Metric("BWT", "bwt", 1, 4, False)
FWT = Metric("FWT", "fwt", 1, 4, False)
INCREMENTAL = Metric("incremental %", "average_incremental", 100, 2, True)
METRICS = (ACC, BWT, FWT, INCREMENTAL)
# Headings of the columns that `costs` fills.
COSTS = ("learning s", "state", "exemplars")


def costs(entry: dict[str, float]) -> tuple[str, str, str]:
    """Return the cells under COSTS, from the summary of a method."""
    return f"{entry['learn_seconds_mean']:.1f}", decimal(int(entry["state_bytes"])), f"{entry['exemplars']:,}"


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table in markdown. The first `words` columns are aligned left, the others right.

    >>> print(markdown(["case", "ACC %"], [["a", "80.58"]]))
    | case | ACC % |
    |---|---:|
    | a | 80.58 |
    """
    rule = "|".join(["---"] * words + ["---:"] * (len(headings) - words))
    lines = [f"| {' | '.join(headings)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def spread(mean: float, deviation: float, digits: int, runs: int) -> str:
    """Return the mean and standard deviation as text; the mean alone for one run.

    >>> spread(97.531, 0.12, 2, 5), spread(97.531, 0.0, 2, 1)
    ('97.53 ± 0.12', '97.53')
    """
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}" if runs > 1 else f"{mean:.{digits}f}"
