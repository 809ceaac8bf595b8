"""Tables of samples: CSV, TSV, Parquet, .npz and .npy files behind one reader.

A table is read a piece at a time, so it may be larger than memory.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from if2net.errors import IF2NetError, InputError, SuspectInputError, listed, unknown
from if2net.extras import require
from if2net.labels import LONGEST, Labels

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
# The label is the column with one of these names, in upper or lower case, unless another one is chosen.
LABEL_NAMES = ("label", "class", "target", "y")
# "007" and "1.0" stay text, because they would be written differently as numbers; so do numbers beyond 64 bits.
WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,17}")
TRUTH_VALUES = {"true": True, "false": False}
LabelType = type[str] | type[int] | type[bool]
LABEL_TYPES: dict[LabelType, str] = {int: "whole number", bool: "truth value"}
# pyarrow's messages for a cell that does not fit the type of its column, and for a row that has too many or too few
# cells; the first row is the header.
BAD_CELL = re.compile(r"CSV column #(?P<column>\d+): Row #(?P<row>\d+): CSV conversion error to \w+: (?P<reason>.+)")
BAD_ROW = re.compile(r"Row #(?P<row>\d+): Expected (?P<wanted>\d+) columns, got (?P<got>\d+)")
# The errors that the libraries raise for damaged files.
READING_ERRORS: tuple[type[Exception], ...] = (ValueError, OSError, LookupError, EOFError, TypeError, RuntimeError)
READING_ERRORS += (MemoryError, OverflowError, SyntaxError, TokenError, zipfile.BadZipFile, zlib.error, LZMAError)
UTF_8 = "The text is not in UTF-8. Save the table in that encoding; spreadsheets call it CSV UTF-8."

# The format of a file by the ending of its name, and the formats whose columns a model remembers by name.
FORMATS = dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), "csv")
FORMATS |= {".parquet": "parquet", ".npz": "npz", ".npy": "npy"}
NAMED = ("csv", "parquet")
# Names of columns that programs add to number the rows, in lower case; pandas writes no name.
INDEX_NAMES = ("", "index", "id", "unnamed: 0")
# With at least this many rows, a column that counts them is an index, and labels that hardly repeat are not classes.
ENOUGH_ROWS = 20
# The types of text in Parquet files.
TEXTS = ("string", "large_string", "string_view")
# Labels are not classes if the number of new ones exceeds this share of the rows. The second share is for labels that
# all have a decimal point, such as 151.0, as only measurements do.
MOST_CLASSES, MEASURED_CLASSES = 0.5, 0.1
# Whole numbers may also be measurements if the number of new ones exceeds this share of the rows.
DOUBTFUL_CLASSES = 0.25
MEASUREMENT = re.compile(r"-?\d+\.\d+([eE][-+]?\d+)?")
NEED = "Reading CSV, TSV and Parquet files needs pyarrow"

# Columns of a table by name, all of one length. A column may hold vectors or images.
Arrays = dict[str, np.ndarray]


# ---------------------------------------------------------------------- columns


@dataclass(frozen=True)
class Columns:
    """The names of the features, and the names of the label and the weight where they are needed."""

    features: tuple[str, ...]
    label: str | None
    weight: str | None = None

    @property
    def names(self) -> list[str]:
        return [*self.features, *(name for name in (self.label, self.weight) if name is not None)]

    @property
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        return [*self.features, *([] if self.weight is None else [self.weight])]


def columns_to_learn(
    names: Sequence[str], label: str | None = None, known: Sequence[str] | None = None, weight: str | None = None
) -> Columns:
    """Choose the label and the features: by default the label is named label, class, target or y, or comes last.

    `known` are the features of a model that has learned from tables before; other columns are ignored.

    >>> columns_to_learn(["Class", "width", "height"])
    Columns(features=('width', 'height'), label='Class', weight=None)
    """
    if weight is not None:
        if weight not in names:
            raise unknown("column", weight, names)
        if weight in (label, *(known or ())):
            raise InputError(f"The column {weight!r} cannot be the weight: it is a feature or the label already.")
        names = [name for name in names if name != weight]
    if not names:
        raise InputError("The table has no columns of features and labels. Add them.")
    chosen = _label(names, label) or names[-1]
    if label is None and chosen in (known or ()):
        raise InputError(
            f"No column looks like the label: the last one, {chosen!r}, is a feature of the model. "
            "Add a column of labels, or set `label` to its name."
        )
    return Columns(_features(names, chosen, known), chosen, weight)


def columns_to_predict(names: Sequence[str], label: str | None = None, known: Sequence[str] | None = None) -> Columns:
    """Choose the features among the columns of a table; a column of labels is ignored."""
    return Columns(_features(names, _label(names, label), known), None)


def features_of(arrays: Arrays, columns: Columns) -> np.ndarray:
    """Join the feature columns to a matrix, samples × features; vectors and images are flattened."""
    parts = [arrays[name].reshape(len(arrays[name]), -1) for name in columns.features]
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def labels_of(arrays: Arrays, columns: Columns) -> np.ndarray:
    """Return the labels; numbers with a fraction are refused, because they are measurements and not classes."""
    assert columns.label is not None
    labels = arrays[columns.label]
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.ndim != 1:
        raise InputError(f"The column {columns.label!r} holds more than one label per sample. Give one for each.")
    if labels.dtype.kind != "f" or not (np.abs(labels.astype(float)) <= 2**53).all():  # refused as labels later
        return labels
    if not (labels == np.floor(labels)).all():
        raise InputError(
            f"The column {columns.label!r} holds fractions, so it cannot be the label. "
            "Set `label` to the column that holds the classes."
        )
    return labels.astype(np.int64)


def feature_names(arrays: Arrays, columns: Columns) -> list[str] | None:
    """Return the names of the features, or None where a column holds vectors or images."""
    single = all(arrays[name].ndim == 1 for name in columns.features)
    return list(columns.features) if single else None


def _label(names: Sequence[str], label: str | None) -> str | None:
    if label is not None:
        if label not in names:
            raise unknown("column", label, names)
        return label
    candidates = [name for name in names if name.lower() in LABEL_NAMES]
    if len(candidates) > 1:
        raise InputError(
            f"The columns {' and '.join(map(repr, candidates))} could each be the label. Set `label` to one of them."
        )
    return candidates[0] if candidates and len(names) > 1 else None


def _features(names: Sequence[str], label: str | None, known: Sequence[str] | None) -> tuple[str, ...]:
    if known is not None:
        present = set(names) - {label}
        missing = [name for name in known if name not in present]
        if missing:
            raise InputError(
                f"Features of the model are missing in this table: {', '.join(map(repr, missing[:5]))}. "
                "Add these columns, or start a new model."
            )
        return tuple(known)
    features = tuple(name for name in names if name != label)
    if not features:
        raise InputError(f"The table has no column besides the label {label!r}. Add columns of features.")
    return features


# ---------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Table:
    """A file of samples. Each iteration over it gives the same (X, y) in pieces of 4,096 rows, or (X, y, weights).

    The y of a table to predict is None.
    """

    path: Path
    columns: Columns
    feature_names: list[str] | None = None
    label_type: LabelType = str  # of labels that were read as text
    notices: tuple[str, ...] = ()  # sentences about choices that the user may not expect

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        with _naming(self.path):
            for number, arrays in enumerate(_pieces(self.path, self.columns)):
                _check_numbers(arrays, self.columns, number * ROWS)
                labels = None if self.columns.label is None else self._labels(arrays, number * ROWS)
                weights = () if self.columns.weight is None else (arrays[self.columns.weight],)
                yield features_of(arrays, self.columns), labels, *weights

    def _labels(self, arrays: Arrays, offset: int) -> np.ndarray:
        labels = labels_of(arrays, self.columns)
        if labels.dtype.kind in "fO":
            missing = [label is None or label == "" or label != label for label in labels.tolist()]
            if any(missing):
                raise InputError(
                    f"Row {offset + missing.index(True) + 1:,} has no value in the column {self.columns.label!r}. "
                    "Every sample needs a label."
                )
        if self.label_type is not str:
            typed = [of_type(label, self.label_type) for label in labels.tolist()]
            if None in typed:
                row = typed.index(None)
                raise InputError(
                    f"The label {labels[row]!r} in row {offset + row + 1:,} is not a {LABEL_TYPES[self.label_type]}, "
                    "but earlier labels are. Write all labels alike: as numbers, as True and False, or as words."
                )
            return np.array(typed)
        try:
            Labels().extended(labels)
        except InputError as error:
            rows = f"rows {offset + 1:,} to {offset + len(labels):,} of the column {self.columns.label!r}"
            raise InputError(f"{error} The label is in {rows}.") from error
        return labels.astype(str) if kind_of(self.path) == "csv" else labels


class Stream:
    """Several tables as one iterable of (X, y); `report` is called with the number of rows after each piece."""

    def __init__(self, tables: Sequence[Table], report: Callable[[int], None]) -> None:
        self.tables, self.report = tables, report
        self.place = ""  # of the latest piece

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for table in self.tables:
            rows = 0
            for piece in table:
                count = len(piece[0])
                self.place = f"{table.path}, rows {rows + 1:,} to {rows + count:,}"
                rows += count
                yield piece
                self.report(count)


def tables_to_learn(
    paths: Sequence[Path],
    label: str | None,
    known: Sequence[str] | None,
    classes: Sequence[Any],
    *,
    weight: str | None = None,
    check_inputs: bool = True,
) -> list[Table]:
    """Open tables for a model with these features and classes; the first table names the features of a new model."""
    tables: list[Table] = []
    for path in paths:
        tables.append(table_to_learn(path, label, known, classes, weight=weight, check_inputs=check_inputs))
        known = known or tables[0].feature_names
    return tables


def table_to_learn(
    path: Path,
    label: str | None = None,
    known: Sequence[str] | None = None,
    classes: Sequence[Any] = (),
    *,
    weight: str | None = None,
    check_inputs: bool = True,
) -> Table:
    """Open a table with labels and check its first piece; the labels of an .npy file are in the .npy file `label`.

    `weight` is the column of weights, or, for an .npy file, another .npy file. With `check_inputs`, labels that
    hardly ever repeat are refused.
    """
    kind = kind_of(path)
    with _naming(path):
        if kind == "npy":
            if label is None or not Path(label).is_file():
                raise InputError("An .npy file holds features only. Set `label` to the .npy file of the labels.")
            if weight is not None and not Path(weight).is_file():
                raise InputError("An .npy file holds features only. Set `weight` to the .npy file of the weights.")
            columns = Columns((path.stem,), str(Path(label).resolve()), weight and str(Path(weight).resolve()))
        else:
            columns = columns_to_learn(_names(path), label, known if kind in NAMED else None, weight)
        first = _first_piece(path, columns)
        if check_inputs:
            _check_classes(first[str(columns.label)], columns, classes)
        if kind not in NAMED:
            return Table(path, columns)
        label_type = type_of(labels_of(first, columns), classes) if kind == "csv" else str
        notices = (
            *_notices(_names(path), columns, first, new=known is None, chosen=label is not None),
            *_doubts(first[str(columns.label)], columns, classes),
        )
        return Table(path, columns, feature_names(first, columns), label_type, notices)


def table_to_predict(path: Path, label: str | None = None, known: Sequence[str] | None = None) -> Table:
    """Open a table without labels and check its first piece; a column of labels is ignored."""
    with _naming(path):
        columns = columns_to_predict(_names(path), label, known if kind_of(path) in NAMED else None)
        _first_piece(path, columns)
        return Table(path, columns)


def _check_classes(labels: np.ndarray, columns: Columns, classes: Sequence[Any]) -> None:
    """Raise an error if most rows have a new class of their own, as with measurements, names or serial numbers."""
    new = _new_classes(labels, classes)
    measured = all(MEASUREMENT.fullmatch(label) for label in new)
    if len(labels) >= ENOUGH_ROWS and len(new) > len(labels) * (MEASURED_CLASSES if measured else MOST_CLASSES):
        raise SuspectInputError(
            f"The column {columns.label!r} has {len(new):,} new classes in {len(labels):,} rows, so it does not look "
            "like the label. Set `label` to the column that holds the classes."
        )


def _doubts(labels: np.ndarray, columns: Columns, classes: Sequence[Any]) -> Iterator[str]:
    """Describe labels that may be measurements: whole numbers of which few repeat."""
    new = _new_classes(labels, classes)
    if len(labels) < ENOUGH_ROWS or len(new) <= len(labels) * DOUBTFUL_CLASSES:
        return
    if all(WHOLE_NUMBER.fullmatch(label) for label in new):
        yield (
            f"The column {columns.label!r} has {len(new):,} new classes in {len(labels):,} rows. If its numbers are "
            "measurements, set `label` to the column that holds the classes."
        )


def _new_classes(labels: np.ndarray, classes: Sequence[Any]) -> set[str]:
    """Return the labels that are none of these classes, as text. Whole numbers may be written 3 or 3.0."""
    known = (*classes, *(float(label) for label in classes if isinstance(label, int)))
    return {str(label) for label in labels.flatten().tolist()} - {str(label) for label in known}


def _notices(names: Sequence[str], columns: Columns, first: Arrays, *, new: bool, chosen: bool) -> Iterator[str]:
    """Describe choices that the user may not expect: the label, ignored columns, and a column that is an index."""
    assert columns.label is not None
    if not chosen:
        place = "column" if columns.label.lower() in LABEL_NAMES else "last column,"
        yield f"The labels are the {place} {columns.label!r}. Set `label` to choose another."
    used = set(columns.names)
    if ignored := [name for name in names if name not in used]:
        yield f"Columns that are not features of the model are ignored: {listed(map(repr, ignored))}."
    for name in columns.features if new else ():
        if _counts_rows(name, first[name]):
            yield f"The column {name!r} only counts the rows, and is used as a feature. Remove it if it is an index."


def _counts_rows(name: str, values: np.ndarray) -> bool:
    if values.ndim != 1 or len(values) < ENOUGH_ROWS:
        return False
    steps = np.diff(values.astype(np.float64))
    if name.lower() in INDEX_NAMES:  # the rows may be a part of a larger table
        return bool((steps >= 1).all() and (steps == np.floor(steps)).all())
    return values[0] in (0, 1) and bool((steps == 1).all())


def type_of(labels: np.ndarray, classes: Sequence[Any]) -> LabelType:
    """Return the type of labels that were read as text: that of the model's classes, or of all first labels.

    >>> type_of(np.array(["1", "2"]), []), type_of(np.array(["True"]), [False, True])
    (<class 'int'>, <class 'bool'>)
    """
    if not len(classes):
        return int if all(WHOLE_NUMBER.fullmatch(label) for label in set(labels.tolist())) else str
    if all(isinstance(label, bool | np.bool_) for label in classes):
        return bool
    return int if all(isinstance(label, int | np.integer) for label in classes) else str


def of_type(label: str, kind: LabelType) -> str | int | bool | None:
    """Return a label that was read as text as another type; None if it is not written like one."""
    if kind is int:
        return int(label) if WHOLE_NUMBER.fullmatch(label) else None
    return TRUTH_VALUES.get(label.lower()) if kind is bool else label


def _first_piece(path: Path, columns: Columns) -> Arrays:
    first = next(_pieces(path, columns), None)
    if first is None:
        raise InputError(f"{path} holds no samples. Add at least one row.")
    _check_numbers(first, columns, 0)
    return first


def _check_numbers(arrays: Arrays, columns: Columns, offset: int) -> None:
    for name in columns.numbers:
        values = arrays[name]
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"The column {name!r} does not hold numbers ({values.dtype}). Leave it out, or encode it as numbers."
            )
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0, 0])
            raise InputError(
                f"Row {offset + row + 1:,} of the column {name!r} is empty, NaN or infinite. Remove such rows, or "
                "fill in the values."
            )


def _pieces(path: Path, columns: Columns) -> Iterator[Arrays]:
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
def _naming(path: Path) -> Iterator[None]:
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


# ---------------------------------------------------------------------- formats


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
    raise InputError(f"{path} is not a table or an image. Tables end in {', '.join(FORMATS)}.")


def _names(path: Path) -> list[str]:
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
    names, rows = _names(path), 0
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
    if "UTF8" in message:
        raise InputError(UTF_8)


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
        for pieces in zip(*(_npy_pieces(stream, *headers[name]) for name, stream in streams.items()), strict=True):
            yield dict(zip(streams, pieces, strict=True))


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
