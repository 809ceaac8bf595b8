"""Readers of CSV, TSV, Parquet, .npz and .npy files.

A file is read a piece at a time, so it may be larger than memory.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from if2net.errors import IF2NetError, InputError
from if2net.extras import require
from if2net.labels import LONGEST
from if2net.tables.columns import Arrays, Columns

# Rows in a piece. A new learner takes the scale of its inputs from the first piece, so its size must not depend on
# how the file was written.
ROWS = 4096
# Bytes that a piece of all arrays may take. A compressed file of a few megabytes can declare any size.
LARGEST_PIECE = 1 << 30
# Bytes that the header of an array may take; numpy has the same limit.
LONGEST_HEADER = 10_000
TOO_LARGE = (
    "The arrays would take more than 1 GiB of memory at once. Save them with fewer columns, as float32, and row by "
    "row with np.ascontiguousarray."
)
# Bytes of text that a group of rows of a Parquet file may hold. While they are read, they take about three times as
# much memory.
LARGEST_TEXTS = LARGEST_PIECE // 4
# The least bytes per number in a long group of vectors of a Parquet file. Equal numbers take almost none.
LEAST_BYTES = 0.5
DIFFERENT_LENGTHS = "The vectors of the column {!r} differ in length. Give all of them the same."
# pyarrow's messages for a cell that does not fit the type of its column, and for a row that has too many or too few
# cells; the first row is the header.
BAD_CELL = re.compile(r"CSV column #(?P<column>\d+): Row #(?P<row>\d+): CSV conversion error to \w+: (?P<reason>.+)")
BAD_ROW = re.compile(r"Row #(?P<row>\d+): Expected (?P<wanted>\d+) columns, got (?P<got>\d+)")
# The errors that the libraries raise for damaged files.
READING_ERRORS: tuple[type[Exception], ...] = (ValueError, OSError, LookupError, EOFError, TypeError, RuntimeError)
READING_ERRORS += (MemoryError, OverflowError, SyntaxError, TokenError, zipfile.BadZipFile, zlib.error, LZMAError)
UTF_8 = "The text is not in UTF-8. Save the table in that encoding; spreadsheets call it CSV UTF-8."

# The format of a file by the ending of its name.
FORMATS = dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), "csv")
FORMATS |= {".parquet": "parquet", ".npz": "npz", ".npy": "npy"}
# The types of text in Parquet files.
TEXTS = ("string", "large_string", "string_view")
NEED = "Reading CSV, TSV and Parquet files needs pyarrow"


def kind_of(path: Path) -> str:
    """Return the format of a file, by the ending of its name."""
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a table. Give tables: {', '.join(FORMATS)}.")
    if not path.exists():
        raise InputError(f"There is no file or folder {path}. Check the path.")
    if not path.is_file():
        raise InputError(f"{path} is a pipe or a device. Write the table to a file first.")
    for ending, kind in FORMATS.items():
        if path.name.lower().endswith(ending):
            return kind
    raise InputError(f"{path} is neither an image nor a table. Tables end in {', '.join(FORMATS)}.")


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a file."""
    kind = kind_of(path)
    if kind == "npy":
        return [path.stem]
    if kind == "npz":
        with zipfile.ZipFile(path) as archive:
            return _distinct([name.removesuffix(".npy") for name in archive.namelist()])
    if kind == "parquet":
        with _open_parquet(path) as file:
            return _distinct(file.schema_arrow.names)
    if not path.stat().st_size:
        raise InputError(f"{path} is empty. It needs a line with the names of the columns, then the samples.")
    _check_first_line(path)
    try:
        with _open_csv(path) as reader:
            names = list(reader.schema.names)
    except ValueError as error:
        _explain(str(error))
        raise
    if all(re.fullmatch(r"[-+]?\d*\.?\d+([eE][-+]?\d+)?", name.strip()) for name in names):
        raise InputError(f"{path} starts with numbers. Add a first line with the names of the columns.")
    if broken := [name for name in names if "\n" in name or "\r" in name]:
        raise InputError(
            f"The name of the column {broken[0][:50]!r} holds a line break. Close the quote in the first line, or "
            "write the name in one line."
        )
    return _distinct(names)


def _distinct(names: list[str]) -> list[str]:
    """Return the names of columns, or raise an error if one comes twice."""
    for name, other in pairwise(sorted(names)):
        if name == other:
            raise InputError(f"Two columns have the name {name!r}. Give each column a name of its own.")
    return names


def _check_first_line(path: Path) -> None:
    """Raise an error if a CSV file is in UTF-16, or has another separator."""
    with gzip.open(path) if path.name.lower().endswith(".gz") else open(path, "rb") as file:
        line = file.readline(1 << 20)
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in line:  # a byte order mark, or UTF-16 without one
        raise InputError(UTF_8)
    separators = {b",": "commas", b"\t": "tabs", b";": "semicolons"}
    wanted = b"\t" if _is_tsv(path) else b","
    if wanted not in line and (others := [name for mark, name in separators.items() if mark in line]):
        raise InputError(
            f"The columns are separated by {others[-1]}, not {separators[wanted]}. Save the table as CSV with commas "
            "and decimal points, or with tabs as .tsv."
        )


# pyarrow.dataset would read both formats, but it reads ahead without a fixed limit.


def _open_csv(path: Path, **conversion: Any) -> Any:
    arrow = require("pyarrow.csv", "tables", NEED)
    return arrow.open_csv(
        path,
        read_options=arrow.ReadOptions(use_threads=False),  # only then do errors name the row
        parse_options=arrow.ParseOptions(delimiter="\t" if _is_tsv(path) else ","),
        convert_options=arrow.ConvertOptions(**conversion),
    )


def _is_tsv(path: Path) -> bool:
    return path.name.lower().endswith((".tsv", ".tsv.gz"))


def _open_parquet(path: Path) -> Any:
    arrow = require("pyarrow.parquet", "tables", NEED)
    texts = [field.name for field in arrow.read_schema(path) if str(field.type) in TEXTS]
    # With a buffer, much of the file is read at once. Without dictionaries, a long text takes its room in every row.
    return arrow.ParquetFile(path, pre_buffer=False, read_dictionary=texts)


def _read_csv(path: Path, columns: Columns) -> Iterator[Arrays]:
    names, rows = column_names(path), 0
    # A piece alone cannot tell whether all labels are numbers, so they are read as text, like the other columns.
    types = dict.fromkeys(names, "string") | dict.fromkeys(columns.numbers, "float64")
    try:
        for batch in _open_csv(path, column_types=types):
            _check_lines(batch, rows)
            rows += len(batch)
            yield _numpy_columns(batch.select(columns.names))
    except ValueError as error:
        _explain(str(error), names)
        raise


def _check_lines(batch: Any, offset: int) -> None:
    """Raise an error if a cell holds a line break: after a quote that is not closed, one cell holds many rows."""
    from pyarrow import compute

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if column.type != "string":
            continue
        row = compute.index(compute.match_substring_regex(column, "[\r\n]"), True).as_py()
        if row >= 0:
            raise InputError(
                f"Row {offset + row + 1:,} of the column {name!r} holds a line break. Close the quote in it, or "
                "write the text in one line."
            )


def _explain(message: str, names: Sequence[str] = ()) -> None:
    """Raise an error with advice in place of one of pyarrow's, if its message is known."""
    if names and (cell := BAD_CELL.search(message)):
        place = f"Row {int(cell['row']) - 1:,} of the column {names[int(cell['column'])]!r} cannot be read"
        if "UTF8" in message:
            raise InputError(f"{place}. {UTF_8}")
        if re.search(r"'\d+,\d+'", message):
            raise InputError(f"{place} ({cell['reason']}). Write numbers with a decimal point, not a comma.")
        raise InputError(
            f"{place} ({cell['reason']}). Features must be numbers. Leave out the column, or encode it as numbers."
        )
    if row := BAD_ROW.search(message):
        raise InputError(
            f"Row {int(row['row']) - 1:,} has {row['got']} cells, but there are {row['wanted']} columns. Complete "
            "the row, or close the quote in it."
        )
    if "straddl" in message:
        raise InputError("A row is longer than 1 MB. Save such a wide table as an .npy, .npz or .parquet file.")
    if "Empty CSV file" in message:  # also if the first line has no end in the first megabyte
        raise InputError(
            "The first line, with the names of the columns, has no end or is empty. Complete it, or close the quote "
            "in it. If it is longer than 1 MB, save the table as an .npy, .npz or .parquet file."
        )


def _read_parquet(path: Path, columns: Columns) -> Iterator[Arrays]:
    with _open_parquet(path) as file:
        schema = file.schema_arrow
        for name in columns.names:
            _check_type(name, schema.field(name).type)
        for number in range(file.num_row_groups):
            _check_group(file.metadata.row_group(number), columns)
        for batch in file.iter_batches(batch_size=ROWS, columns=columns.names):
            yield _numpy_columns(batch)


def _check_group(group: Any, columns: Columns) -> None:
    """Raise an error, before anything is read, if a piece of a group of rows would take too much memory."""
    chunks = [group.column(place) for place in range(group.num_columns)]
    values = sum(chunk.num_values for chunk in chunks)
    if 8 * values * min(1, ROWS / max(1, group.num_rows)) > LARGEST_PIECE:  # zeros take almost no space in a file
        raise InputError(TOO_LARGE)
    wanted = set(columns.names)
    for chunk in chunks:
        # The path of a vector has one or two more parts, such as x.list.element.
        paths = (chunk.path_in_schema.rsplit(".", more)[0] for more in range(3))
        name = next((path for path in paths if path in wanted), None)
        if name is None:
            continue
        if chunk.physical_type == "BYTE_ARRAY" and chunk.total_uncompressed_size > LARGEST_TEXTS:
            raise InputError(
                f"The column {name!r} holds {chunk.total_uncompressed_size:,} bytes of text in one group of rows. "
                f"Shorten the texts to {LONGEST:,} characters, or save the table with a smaller row_group_size."
            )
        # A row is read whole, and a file can put nearly all values of a group into one row.
        if chunk.num_values != group.num_rows * (chunk.num_values // max(1, group.num_rows)):
            raise InputError(DIFFERENT_LENGTHS.format(name))
        numbers, stored = chunk.num_values, chunk.total_compressed_size
        if numbers > group.num_rows and 8 * numbers > LARGEST_PIECE and stored < numbers * LEAST_BYTES:
            raise InputError(
                f"The column {name!r} declares {numbers:,} numbers in {stored:,} bytes. Save the table with a "
                "smaller row_group_size, such as 10,000."
            )


def _check_type(name: str, kind: Any) -> None:
    """Raise an error, before anything is read, if a column holds neither numbers nor text nor vectors.

    Bytes, for example, are stored once and would take their memory in every row.
    """
    from pyarrow import types

    vectors = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    held = kind.value_type if vectors or types.is_dictionary(kind) else kind
    if not (types.is_primitive(held) or types.is_decimal(held) or types.is_null(held)) and (
        vectors or str(held) not in TEXTS
    ):
        raise InputError(
            f"The column {name!r} holds neither numbers nor text ({kind}). Leave it out, or convert it first."
        )


def _numpy_columns(batch: Any) -> Arrays:
    """Convert Arrow columns to arrays, and columns of vectors to matrices."""
    from pyarrow import compute, types

    arrays: Arrays = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        texts = column.dictionary if types.is_dictionary(column.type) else column
        if str(texts.type) in TEXTS and (compute.max(compute.utf8_length(texts)).as_py() or 0) > LONGEST:
            raise InputError(f"A text in the column {name!r} has more than {LONGEST:,} characters. Shorten it.")
        if types.is_dictionary(column.type) and str(column.type.value_type) in TEXTS:
            words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
            arrays[name] = words[column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)]
            continue
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_decimal(column.type):
            column = column.cast("float64")
        if types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type):
            if len(compute.unique(compute.list_value_length(column))) > 1 or column.null_count:
                raise InputError(DIFFERENT_LENGTHS.format(name))
            arrays[name] = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
        else:
            arrays[name] = column.to_numpy(zero_copy_only=False)
    return arrays


def _read_arrays(path: Path, columns: Columns) -> Iterator[Arrays]:
    """Read the arrays of an .npz file, or an .npy file and the .npy files of the labels and the weights."""
    with ExitStack() as stack:
        if kind_of(path) == "npz":
            archive = stack.enter_context(zipfile.ZipFile(path))
            streams = {name: stack.enter_context(archive.open(f"{name}.npy")) for name in columns.names}
            sizes = {name: archive.getinfo(f"{name}.npy").file_size for name in columns.names}
        else:
            files = {name: path if name in columns.features else Path(name) for name in columns.names}
            streams = {name: stack.enter_context(file.open("rb")) for name, file in files.items()}
            sizes = {name: file.stat().st_size for name, file in files.items()}
        headers = {name: _npy_header(name, stream, sizes[name]) for name, stream in streams.items()}
        lengths = {name: shape[0] for name, (shape, _, _) in headers.items()}
        if len(set(lengths.values())) > 1:
            counts = " and ".join(f"{name!r} has {length:,}" for name, length in lengths.items())
            raise InputError(f"The arrays differ in their number of rows: {counts}. Give one label for each sample.")
        # The features are joined to one matrix, in a type that holds all of theirs.
        widest = max(headers[name][2].itemsize for name in columns.features)
        size = 0
        for name, (shape, by_columns, dtype) in headers.items():
            rows = shape[0] if by_columns else min(shape[0], ROWS)
            size += rows * math.prod(shape[1:]) * (widest if name in columns.features else dtype.itemsize)
        if size > LARGEST_PIECE:
            raise InputError(TOO_LARGE)
        for rows_of_arrays in zip(
            *(_npy_pieces(stream, *headers[name]) for name, stream in streams.items()), strict=True
        ):
            yield dict(zip(streams, rows_of_arrays, strict=True))


def _npy_header(name: str, stream: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the shape, whether the array is stored column by column, and the type. They must fit the size in bytes."""
    short = npy.read_magic(stream) == (1, 0)
    length = stream.read(2 if short else 4)
    count = int.from_bytes(length, "little")
    if count > LONGEST_HEADER:  # numpy checks it only after it has read all of it
        raise InputError(f"The header of the array {name!r} is too long. Save the array again with np.save.")
    read_header = npy.read_array_header_1_0 if short else npy.read_array_header_2_0
    shape, by_columns, dtype = read_header(io.BytesIO(length + stream.read(count)))
    if dtype.hasobject:
        raise InputError(f"The array {name!r} holds Python objects. Save text or numbers, such as y.astype(str).")
    if not shape:
        raise InputError(f"The array {name!r} is a single number. It needs one row for each sample.")
    if min(shape) < 0 or math.prod(shape) * dtype.itemsize > size - stream.tell():
        raise InputError(f"The array {name!r} is cut short: its header declares the shape {shape}. Get it again.")
    return shape, by_columns and len(shape) > 1, dtype


def _npy_pieces(
    stream: IO[bytes], shape: tuple[int, ...], by_columns: bool, dtype: np.dtype[Any]
) -> Iterator[np.ndarray]:
    """Read ROWS rows at a time; an array that is stored column by column is read whole."""
    whole = _npy_values(stream, shape[::-1], dtype).T if by_columns else None
    for start in range(0, shape[0], ROWS):
        stop = min(start + ROWS, shape[0])
        yield _npy_values(stream, (stop - start, *shape[1:]), dtype) if whole is None else whole[start:stop]


def _npy_values(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    size = math.prod(shape) * dtype.itemsize
    content = stream.read(size)
    if len(content) < size:
        raise InputError("The file is cut short: it has fewer rows than its header declares. Get it again.")
    return np.frombuffer(content, dtype=dtype).reshape(shape)


READERS = {"csv": _read_csv, "parquet": _read_parquet, "npz": _read_arrays, "npy": _read_arrays}


def pieces(path: Path, columns: Columns) -> Iterator[Arrays]:
    """Read pieces of ROWS rows, whatever the sizes of the groups in the file."""
    waiting: list[Arrays] = []
    rows = 0
    for part in READERS[kind_of(path)](path, columns):
        waiting.append(part)
        rows += len(next(iter(part.values())))
        if rows >= ROWS:
            joined = _joined(waiting)
            for start in range(0, rows - ROWS + 1, ROWS):
                yield {name: values[start : start + ROWS] for name, values in joined.items()}
            waiting = [{name: values[rows - rows % ROWS :] for name, values in joined.items()}]
            rows %= ROWS
    if rows:
        yield _joined(waiting)


def _joined(parts: list[Arrays]) -> Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@contextmanager
def explaining_reading(path: Path) -> Iterator[None]:
    """Add the name of the file to errors, and turn the errors of other libraries into sentences."""
    try:
        yield
    except IF2NetError as error:
        raise error if str(path) in str(error) else type(error)(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read. {UTF_8}") from error
    except Exception as error:
        if not isinstance(error, READING_ERRORS) and type(error).__name__ != "ArrowException":  # of pyarrow
            raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"{path} cannot be read ({reason}). Check that the file is complete and that its content fits its name."
        ) from error
