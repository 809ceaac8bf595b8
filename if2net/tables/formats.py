"""The kinds of tables there are, read some rows at a time: CSV and Parquet through pyarrow, NumPy's by npy.py."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from if2net.errors import ConfigurationError, InputError
from if2net.tables.columns import Arrays, Columns
from if2net.tables.npy import ROWS, npy_names, npy_read, npz_names, npz_read


@dataclass(frozen=True)
class Format:
    """How files of one kind tell the names of their columns, and how their rows are read, some at a time."""

    names: Callable[[Path], list[str]]
    read: Callable[[Path, Columns], Iterator[Arrays]]
    text_labels: bool = False  # whether a number among the labels is still text when it was read
    named_columns: bool = False  # whether the names mean something that a model should remember


# ---------------------------------------------------------------------- CSV


def _csv_names(path: Path) -> list[str]:
    opening = gzip.open if path.suffix == ".gz" else open
    with opening(path, "rt", encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file, delimiter=_delimiter(path)), [])
    if not names:
        raise InputError(f"{path} is empty; it needs a line with the names of the columns, then the samples.")
    if all(_is_number(name) for name in names):
        raise InputError(f"{path} begins with numbers; add a first line with the names of the columns.")
    if len(set(names)) < len(names):
        raise InputError(f"{path} has two columns of the same name; give every column its own.")
    return names


def _csv_read(path: Path, columns: Columns) -> Iterator[Arrays]:
    pyarrow = _pyarrow()
    from pyarrow.csv import ConvertOptions, ParseOptions, open_csv

    types: dict[str, Any] = {name: pyarrow.float64() for name in columns.features}
    if columns.label is not None:
        types[columns.label] = pyarrow.string()  # what it means is decided for the table, not for each piece
    reader = open_csv(
        path,
        parse_options=ParseOptions(delimiter=_delimiter(path)),
        convert_options=ConvertOptions(column_types=types, include_columns=columns.names),
    )
    yield from (_numpy_columns(batch) for batch in reader)


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.suffixes else ","


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------------- Parquet


def _parquet_names(path: Path) -> list[str]:
    _pyarrow()
    from pyarrow.parquet import read_schema

    return list(read_schema(path).names)


def _parquet_read(path: Path, columns: Columns) -> Iterator[Arrays]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=columns.names):
            yield _numpy_columns(batch)


def _numpy_columns(batch: Any) -> Arrays:
    return {name: _numpy(batch.column(name)) for name in batch.schema.names}


def _numpy(column: Any) -> np.ndarray:
    """An Arrow column as an array; a column of vectors as a matrix."""
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type)):
        return column.to_numpy(zero_copy_only=False)
    lengths = set(compute.list_value_length(column).to_pylist())
    if len(lengths) > 1 or None in lengths:
        raise InputError("A column holds vectors of different lengths; all samples need the same features.")
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ConfigurationError("CSV and Parquet need pyarrow: `pip install 'if2net[tables]'`.") from error
    return pyarrow


_CSV = Format(_csv_names, _csv_read, text_labels=True, named_columns=True)
FORMATS: dict[str, Format] = {
    ".csv": _CSV,
    ".csv.gz": _CSV,
    ".tsv": _CSV,
    ".tsv.gz": _CSV,
    ".parquet": Format(_parquet_names, _parquet_read, named_columns=True),
    ".npz": Format(npz_names, npz_read),
    ".npy": Format(npy_names, npy_read),
}
