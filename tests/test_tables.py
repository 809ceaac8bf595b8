"""Tables of every format give the same samples, and what is wrong with one is named."""

import gzip
import os
import sys
import time
import tracemalloc
import zipfile
from contextlib import contextmanager
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from processes import execute
from pyarrow import csv, parquet

from if2net.errors import ConfigurationError, IF2NetError, InputError, SuspectInputError
from if2net.tables import ROWS, Stream, table_to_learn, table_to_predict, tables_to_learn
from if2net.tables.columns import (
    Columns,
    columns_to_learn,
    columns_to_predict,
    feature_names,
    features_of,
    labels_of,
)
from if2net.tables.mistakes import notices

LONG = 2 * ROWS + 100
ENDINGS = [".csv", ".csv.gz", ".tsv", ".CSV", ".parquet", ".npz", ".npy"]


def frame(rows=50):
    return pd.DataFrame(
        {
            "height": np.arange(rows) / 4,
            "kind": [["owl", "wren"][number % 2] for number in range(rows)],
            "width": np.arange(rows) % 7,
        }
    )


def write(folder, ending, rows=50):
    """Write the same samples to a file of any format; return its path and its label."""
    table, path = frame(rows), folder / f"birds{ending}"
    if ending.lower().startswith((".csv", ".tsv")):
        table.to_csv(path, index=False, sep="\t" if "tsv" in ending else ",")
    elif ending == ".parquet":
        table.to_parquet(path, index=False, row_group_size=1000)
    else:
        X, kinds = table[["height", "width"]].to_numpy(), np.array(table["kind"].tolist())
        if ending == ".npz":
            np.savez_compressed(path, X=np.asfortranarray(X), kind=kinds)
        else:
            np.save(path, np.ascontiguousarray(X))
            np.save(folder / "kinds.npy", kinds)
            return path, str(folder / "kinds.npy")
    return path, "kind"


@contextmanager
def counted_memory():
    """Give a memory pool of Arrow that knows the most it has held."""
    usual = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(counting)
    try:
        yield counting
    finally:
        pa.set_memory_pool(usual)


# ---------------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("names", "label", "expected"),
    [
        (["a", "b", "c"], None, "c"),
        (["Target", "a", "b"], None, "Target"),
        (["a", "y", "b"], None, "y"),
        (["a", "y", "b"], "a", "a"),
    ],
)
def test_the_label_is_the_chosen_column_or_a_usual_name_or_the_last(names, label, expected):
    columns = columns_to_learn(names, label)
    assert columns.label == expected
    assert columns.features == tuple(name for name in names if name != expected)


@pytest.mark.parametrize(
    ("names", "label", "known", "sentence"),
    [
        (["height", "kind"], "kimd", None, "did you mean 'kind'"),
        (["x", "class", "y"], None, None, "'class' and 'y' could each be the label"),
        (["kind"], None, None, "no column besides the label"),
        (["height", "kind"], None, ["height", "width"], "missing in this table: 'width'"),
        (["kind", "height", "width"], None, ["height", "width"], "No column looks like the label"),
    ],
)
def test_columns_that_do_not_fit_are_named(names, label, known, sentence):
    with pytest.raises(IF2NetError, match=sentence):
        columns_to_learn(names, label, known)


def test_a_model_gets_its_own_columns_in_its_own_order():
    assert columns_to_learn(["extra", "b", "a", "label"], None, ["a", "b"]) == Columns(("a", "b"), "label")
    assert columns_to_predict(["b", "label", "a"], None, ["a", "b"]) == Columns(("a", "b"), None)


def test_labels_are_not_features_when_predicting():
    assert columns_to_predict(["a", "Class", "b"]).features == ("a", "b")
    assert columns_to_predict(["a", "kind", "b"], "kind").features == ("a", "b")
    assert columns_to_predict(["a", "b"]).features == ("a", "b")
    with pytest.raises(IF2NetError, match="did you mean 'kind'"):
        columns_to_predict(["a", "kind"], "kimd")


def test_vectors_and_images_are_flattened_beside_single_numbers():
    arrays = {"image": np.arange(8).reshape(2, 2, 2), "size": np.array([10, 20]), "y": np.array([0, 1])}
    columns = columns_to_learn(list(arrays))
    assert features_of(arrays, columns).tolist() == [[0, 1, 2, 3, 10], [4, 5, 6, 7, 20]]
    assert feature_names(arrays, columns) is None


def test_whole_floats_are_classes_and_fractions_are_not():
    columns = Columns(("x",), "y")
    assert labels_of({"y": np.array([1.0, 3.0])}, columns).dtype == np.int64
    with pytest.raises(InputError, match="fractions"):
        labels_of({"y": np.array([1.0, 3.5])}, columns)


# ---------------------------------------------------------------------- formats


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_same_samples_in_pieces_of_one_size(ending, tmp_path):
    table = table_to_learn(*write(tmp_path, ending, LONG))
    pieces = list(table)
    assert [len(X) for X, _ in pieces] == [ROWS, ROWS, 100]
    expected = frame(LONG)
    np.testing.assert_array_equal(np.concatenate([X for X, _ in pieces]), expected[["height", "width"]])
    assert np.concatenate([y for _, y in pieces]).tolist() == expected["kind"].tolist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_can_be_read_again(ending, tmp_path):
    table = table_to_learn(*write(tmp_path, ending))
    assert [X.tolist() for X, _ in table] == [X.tolist() for X, _ in table]


def test_a_large_array_is_not_held_in_memory(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((20 * ROWS, 50)))
    np.save(tmp_path / "y.npy", np.zeros(20 * ROWS, dtype=int))
    table = table_to_learn(tmp_path / "X.npy", str(tmp_path / "y.npy"))
    tracemalloc.start()
    rows = sum(len(X) for X, _ in table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 20 * ROWS
    assert peak < 8 * ROWS * 50 * 8


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_large_csv_or_parquet_file_is_not_held_in_memory(ending, tmp_path):
    """Arrow's own memory is measured in a process of its own: it stays well below the size of the columns.

    Arrow reads up to 32 pieces of a megabyte ahead, as many as it can on a busy machine.
    """
    rows, path = 250 * ROWS, tmp_path / f"large.{ending}"
    values = np.random.default_rng(0).normal(size=rows)
    table = pa.table({f"x{place}": values for place in range(20)} | {"label": np.zeros(rows, dtype=int)})
    if ending == "csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path, row_group_size=ROWS)
    execute(f"""
import pyarrow
from pathlib import Path
from if2net.tables import table_to_learn
assert sum(len(X) for X, _ in table_to_learn(Path({str(path)!r}))) == {rows}
peak = pyarrow.default_memory_pool().max_memory()
assert peak < 0.75 * {table.nbytes}, peak
""")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["3", "-1", "0"], [3, -1, 0]),
        (["3", "007", "1"], ["3", "007", "1"]),
        (["1.0", "2", "3"], ["1.0", "2", "3"]),
        (["1", "9" * 30], ["1", "9" * 30]),
    ],
)
def test_labels_that_are_written_as_whole_numbers_are_numbers(labels, expected, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,label\n" + "".join(f"1,{label}\n" for label in labels))
    ((_, y),) = table_to_learn(path)
    assert y.tolist() == expected


def test_labels_are_of_the_same_kind_as_the_classes_of_the_model(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,label\n1,3\n2,4\n")
    ((_, y),) = table_to_learn(path, classes=["owl", "3"])
    assert y.tolist() == ["3", "4"]


def test_truth_values_of_a_model_can_be_written_as_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,label\n1,True\n2,false\n")
    ((_, y),) = table_to_learn(path, classes=[False, True])
    assert y.tolist() == [True, False]
    path.write_text("x,label\n1,True\n2,3\n")
    with pytest.raises(InputError, match="The label '3' in row 2 is not a truth value, but earlier labels are"):
        list(table_to_learn(path, classes=[False, True]))


def test_parquet_columns_of_vectors_and_categories_are_read(tmp_path):
    table = pd.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]], "label": pd.Categorical(["a", "b"])})
    table.to_parquet(tmp_path / "t.parquet")
    opened = table_to_learn(tmp_path / "t.parquet")
    ((X, y),) = opened
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["a", "b"]
    assert opened.feature_names is None


def test_a_long_text_of_a_parquet_file_takes_its_room_once(tmp_path):
    labels = ["a" * 1000, "b"] * 50
    parquet.write_table(pa.table({"x": np.zeros(100), "label": labels}), tmp_path / "t.parquet")
    ((_, y),) = table_to_learn(tmp_path / "t.parquet")
    assert y.tolist() == labels
    assert y[0] is y[2]


def test_parquet_numbers_of_any_kind_are_features(tmp_path):
    table = pd.DataFrame(
        {"price": [Decimal("1.5"), Decimal("2")], "sold": [True, False], "n": [1, 2], "label": [0, 1]}
    )
    table.to_parquet(tmp_path / "t.parquet")
    ((X, _),) = table_to_learn(tmp_path / "t.parquet")
    assert X.tolist() == [[1.5, 1, 1], [2, 0, 2]]


def test_several_tables_are_one_stream_with_the_columns_of_the_first(tmp_path):
    (tmp_path / "a.csv").write_text("height,width,label\n1,2,owl\n")
    (tmp_path / "b.csv").write_text("label,width,height\nwren,4,3\n")
    reported = []
    tables = tables_to_learn([tmp_path / "a.csv", tmp_path / "b.csv"], None, None, [])
    assert [(X.tolist(), y.tolist()) for X, y in Stream(tables, reported.append)] == [
        ([[1, 2]], ["owl"]),
        ([[3, 4]], ["wren"]),
    ]
    assert reported == [1, 1]


def test_a_table_to_predict_needs_no_label(tmp_path):
    path, _ = write(tmp_path, ".csv")
    ((X, y),) = table_to_predict(path, known=["width", "height"])
    np.testing.assert_array_equal(X, frame()[["width", "height"]])
    assert y is None


# ---------------------------------------------------------------------- what can be wrong

BROKEN = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"x,label\n", "holds no samples"),
    "numbers.csv": (b"1,-2.5,3e4\n4,5,6\n", "Add a first line"),
    "twice.csv": (b"x,x,label\n1,2,a\n", "Two columns have the name 'x'"),
    "text.csv": (b"w,x,label\n1,1,a\n1,red,a\n", "Row 2 of the column 'x' cannot be read .*'red'"),
    "ragged.csv": (b"x,z,label\n1,2,a\n1,a\n", "Row 2 has 2 cells, but there are 3 columns"),
    "gap.csv": (b"x,z,label\n1,2,a\n1,,a\n", "Row 2 of the column 'z' is empty"),
    "late.csv": (
        b"x,label\n" + b"1,a\n" * ROWS + b"inf,a\n",
        f"Row {ROWS + 1:,} of the column 'x' is empty",
    ),
    "nolabel.csv": (b"x,label\n1,a\n2,\n", "Row 2 has no value in the column 'label'"),
    "mixed.csv": (b"x,label\n" + b"1,5\n" * ROWS + b"1,owl\n", f"'owl' in row {ROWS + 1:,} is not a whole number"),
    "latin.csv": (b"x,label\n1,caf\xe9\n", "Row 1 of the column 'label' .* not in UTF-8. Save the table in that"),
    "latin-header.csv": (b"\xe9,label\n1,a\n", "not in UTF-8. Save the table in that encoding"),
    "utf-16.csv": ("x,label\n1,a\n".encode("utf-16"), "not in UTF-8"),
    "utf-16-without-a-mark.csv": ("x,label\n1,a\n".encode("utf-16-le"), "not in UTF-8"),
    "semicolons.csv": (b"x;z;label\n1,5;2;a\n", "separated by semicolons, not commas"),
    "tabs.csv": (b"x\tz\tlabel\n1\t2\ta\n", "separated by tabs, not commas. .* as .tsv"),
    "commas.tsv": (b"x,z,label\n1,2,a\n", "separated by commas, not tabs"),
    "decimal.csv": (b'x,label\n"1,5",a\n', "Row 1 of the column 'x' .* decimal point"),
    "quote.csv": (b'x,label\n1,a\n2,"b\n3,c\n', "Row 2 of the column 'label' holds a line break. Close the quote"),
    "quote-returns.csv": (b'x,label\r1,a\r2,"b\r3,c\r', "Row 2 of the column 'label' holds a line break"),
    "quote-header.csv": (b'x,"label\n1,a"\n2,b\n3,c\n', "column 'label.n1,a' holds a line break. Close the quote in"),
    "quote-header-returns.csv": (b'x,"label\r1,a"\r2,b\r3,c\r', "column 'label.r1,a' holds a line break"),
    "quote-first.csv": (b'x,z,label\n1,2,a\n"2,3,b\n3,2,c\n', "Row 2 has 1 cells.* close the quote"),
    "long.csv": (b"x,label\n" + b"1" * (3 << 20) + b",a\n", "A row is longer than 1 MB. Save such a wide table"),
    "wide.csv": (b"x," * (1 << 19) + b"label\n", "first line, .* longer than 1 MB, save the table as an .npy"),
    "quote-open.csv": (b'x,"label\n1,a\n2,b\n', "The first line, .* close the quote in it"),
    "nul.csv": (b"x,label\n1,a\n2,a\0\n", "'a.x00' ends in a NUL character.* rows 1 to 2 of the column 'label'"),
    "cut.csv.gz": (gzip.compress(b"x,label\n1,a\n" * 1000)[:40], "cannot be read"),
    "cut.parquet": (b"PAR1 and no more", "cannot be read"),
    "cut.npz": (b"PK and no more", "cannot be read"),
    "birds.txt": (b"x,label\n1,a\n", "is neither an image nor a table"),
    "X.npy": (b"", "Set `label` to the .npy file of the labels"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_error_names_the_file_and_the_place_in_it(name, tmp_path):
    content, sentence = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence) as raised:
        list(table_to_learn(tmp_path / name))
    assert name in str(raised.value)
    assert str(raised.value).endswith(".")


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"x": ["red", "blue"], "label": ["a", "b"]}, "The column 'x' does not hold numbers"),
        ({"x": [1, 2], "label": ["a", None]}, "Row 2 has no value in the column 'label'"),
        ({"x": [1, 2], "label": [1.0, np.nan]}, "Row 2 has no value in the column 'label'"),
        ({"x": [[1, 2], [1]], "label": ["a", "b"]}, "vectors of the column 'x' differ in length"),
        ({"x": [[1, np.nan], [1, 2]], "label": ["a", "b"]}, "Row 1 of the column 'x' is empty"),
    ],
)
def test_an_error_names_the_column_of_a_parquet_file(columns, sentence, tmp_path):
    pd.DataFrame(columns).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=rf"t\.parquet: .*{sentence}"):
        list(table_to_learn(tmp_path / "t.parquet"))


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        table_to_learn(tmp_path)
    with pytest.raises(InputError, match="There is no file"):
        table_to_learn(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (np.zeros((3, 2)), np.zeros(2), "'y' has 2"),
        (np.zeros((3, 2)), np.array([1, "a", None], dtype=object), "Python objects"),
        (np.zeros((3, 2)), np.array(3), "single number"),
        (np.array([["a"], ["b"]]), np.zeros(2), "The column 'X' does not hold numbers"),
        (np.zeros((3, 2)), np.zeros((3, 2)), "'y' holds more than one label per sample"),
        (np.zeros((3, 2)), np.array([1, 2, np.inf]), "label inf is too large .* rows 1 to 3 of the column 'y'"),
        (np.zeros((3, 2)), np.array([1, 2, 1e300]), r"label 1e\+300 is too large"),
        (np.zeros((3, 2)), np.array([1, 2, 2.0**64]), "too large"),
        (np.zeros((3, 2)), np.array([1, 2, 2**63], dtype=np.uint64), "9223372036854775808 is too large"),
        (np.zeros((3, 2)), np.zeros(3, dtype="datetime64[D]"), "not datetime64.* column 'y'"),
    ],
)
def test_arrays_that_cannot_be_learned_are_refused(X, y, sentence, tmp_path):
    np.savez(tmp_path / "arrays.npz", X=X, y=y)
    with pytest.raises(InputError, match=sentence):
        list(table_to_learn(tmp_path / "arrays.npz"))


def test_an_array_that_is_cut_short_is_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((100, 5)))
    np.save(tmp_path / "y.npy", np.zeros(100, dtype=int))
    content = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(content[:-8])
    with pytest.raises(InputError, match="cut short"):
        table_to_learn(tmp_path / "X.npy", str(tmp_path / "y.npy"))


def test_an_array_that_announces_more_than_the_file_holds_takes_no_memory(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((10, 5)))
    np.save(tmp_path / "y.npy", np.zeros(10, dtype=int))
    content = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(content.replace(b"(10, 5), }" + b" " * 12, b"(10, 1099511627776), }"))
    with pytest.raises(InputError, match=r"declares the shape \(10, 1099511627776\)"):
        table_to_learn(tmp_path / "X.npy", str(tmp_path / "y.npy"))


def test_a_header_that_announces_gigabytes_is_refused_unread(tmp_path):
    start = b"\x93NUMPY\x02\x00" + (3 << 30).to_bytes(4, "little")
    with zipfile.ZipFile(tmp_path / "t.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", start + b" " * (64 << 20))
        archive.writestr("y.npy", b"")
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"t\.npz: The header of the array 'X' is too long"):
            table_to_learn(tmp_path / "t.npz")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_piece_of_an_array_that_takes_too_much_memory_is_refused(order, tmp_path, monkeypatch):
    monkeypatch.setattr("if2net.tables.readers.LARGEST_PIECE", 8 * ROWS * 6)
    for rows, columns in ((2 * ROWS, 5), (2 * ROWS, 6)):
        np.savez_compressed(tmp_path / f"{columns}.npz", X=np.zeros((rows, columns), order=order), y=np.zeros(rows))
    with pytest.raises(InputError, match="would take more than 1 GiB"):
        table_to_learn(tmp_path / "6.npz")
    if order == "C":
        assert sum(len(X) for X, _ in table_to_learn(tmp_path / "5.npz")) == 2 * ROWS


@pytest.mark.parametrize("dtypes", [(float, float), (np.uint8, float)], ids=["one type", "joined as floats"])
def test_arrays_that_take_too_much_memory_together_are_refused(dtypes, tmp_path, monkeypatch):
    monkeypatch.setattr("if2net.tables.readers.LARGEST_PIECE", 8 * 100 * 6)
    arrays = {name: np.zeros((100, 3), dtype) for name, dtype in zip("ab", dtypes, strict=True)}
    np.savez(tmp_path / "arrays.npz", **arrays, y=np.zeros(100, dtype=int))
    with pytest.raises(InputError, match="would take more than 1 GiB"):
        table_to_learn(tmp_path / "arrays.npz")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_without_pyarrow_the_error_says_how_to_install_it(ending, tmp_path, monkeypatch):
    path, _ = write(tmp_path, ending)
    for module in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigurationError, match=r"pip install 'if2net\[tables\]'"):
        table_to_learn(path)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_columns_of_one_name_are_refused(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        columns = [pa.array([1.0, 2.0]), pa.array([3.0, 4.0]), pa.array(["a", "b"])]
        parquet.write_table(pa.Table.from_arrays(columns, names=["x", "x", "label"]), path)
    else:
        np.save(tmp_path / "x.npy", np.zeros((2, 1)))
        with zipfile.ZipFile(path, "w") as archive:
            for name in ("x.npy", "x.npy", "label.npy"):
                archive.write(tmp_path / "x.npy", name)
    with pytest.raises(InputError, match=r"t\.\w+: Two columns have the name 'x'"):
        table_to_learn(path)


def test_an_empty_archive_has_no_columns(tmp_path):
    np.savez(tmp_path / "t.npz")
    with pytest.raises(InputError, match="has no columns of features and labels"):
        table_to_learn(tmp_path / "t.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"t\.csv is a pipe or a device"):
        table_to_predict(tmp_path / "t.csv")


def test_an_error_that_pyarrow_does_not_explain_is_an_error_of_the_table(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise pa.lib.ArrowException("Failed to launch worker thread")

    (tmp_path / "t.csv").write_text("x,label\n1,a\n")
    monkeypatch.setattr("pyarrow.csv.open_csv", fail)
    with pytest.raises(InputError, match=r"t\.csv cannot be read \(Failed to launch worker thread\)"):
        table_to_learn(tmp_path / "t.csv")


def test_a_small_parquet_file_cannot_ask_for_much_memory(tmp_path):
    vectors = pa.ListArray.from_arrays(pa.array([0, 1 << 20], pa.int32()), pa.array(np.zeros(1 << 20, np.float32)))
    parquet.write_table(pa.table({"v": vectors, "label": ["a"]}), tmp_path / "v.parquet")
    assert (tmp_path / "v.parquet").stat().st_size < 10_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("if2net.tables.readers.LARGEST_PIECE", 1 << 20)
        with pytest.raises(InputError, match=r"v\.parquet: The arrays would take more than"):
            table_to_learn(tmp_path / "v.parquet")


@pytest.mark.parametrize("mean", ["whole", "broken"])
def test_a_long_vector_among_short_ones_is_refused_before_it_is_read(mean, tmp_path):
    """The metadata only have the mean length of a group of rows. Equal numbers take no room in the file."""
    rows, long = 1 << 16, 1 << 20
    lengths = [4] * (rows - 1) + [long + 4 if mean == "whole" else long + 5]
    ends = np.cumsum([0, *lengths])
    vectors = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(np.zeros(ends[-1], np.float32)))
    parquet.write_table(pa.table({"v": vectors, "label": ["a", "b"] * (rows // 2)}), tmp_path / "v.parquet")
    sentence = "declares 1,310,720 numbers in" if mean == "whole" else "differ in length"
    with pytest.MonkeyPatch.context() as patch, counted_memory() as counting:
        patch.setattr("if2net.tables.readers.LARGEST_PIECE", 1 << 23)
        with pytest.raises(InputError, match=rf"v\.parquet: .*column 'v' {sentence}"):
            list(table_to_learn(tmp_path / "v.parquet"))
    assert counting.max_memory() < 1 << 20


def test_a_group_of_long_vectors_is_read_where_the_file_holds_as_much(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(3 * ROWS, 8))
    pd.DataFrame({"x": list(X), "label": ["a", "b", "c"] * ROWS}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr("if2net.tables.readers.LARGEST_PIECE", 8 * X.size // 2)
    np.testing.assert_array_equal(np.vstack([X for X, _ in table_to_learn(tmp_path / "t.parquet")]), X)


def test_a_huge_text_of_a_small_parquet_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    table = pa.table({"x": [1.0, 2.0], "label": ["a", "b" * (1 << 24)]})
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd", use_dictionary=False)
    assert (tmp_path / "t.parquet").stat().st_size < 10_000
    monkeypatch.setattr("if2net.tables.readers.LARGEST_TEXTS", 1 << 23)
    with (
        counted_memory() as counting,
        pytest.raises(InputError, match=r"column 'label' holds 16,777,\d+ bytes of text"),
    ):
        table_to_learn(tmp_path / "t.parquet")
    assert counting.max_memory() < 1 << 20


@pytest.mark.parametrize("column", ["x", "label"])
@pytest.mark.parametrize("kind", ["binary", "large_binary", "large_string", "vectors"])
def test_a_long_value_of_a_small_parquet_file_is_not_copied_to_every_row(column, kind, tmp_path):
    """The value is stored once, and the rows refer to it."""
    value, type_ = (
        ("b" * 10_000, getattr(pa, kind)()) if kind != "vectors" else (["b" * 10_000], pa.list_(pa.string()))
    )
    columns = {"x": np.arange(ROWS), "label": ["a", "b"] * (ROWS // 2)} | {column: pa.array([value] * ROWS, type_)}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 1 << 17
    with counted_memory() as counting, pytest.raises(InputError, match=rf"t\.parquet: .*'{column}'"):
        table_to_learn(tmp_path / "t.parquet")
    assert counting.max_memory() < 10 << 20


def test_the_columns_of_a_wide_table_are_not_compared_with_each_other():
    names = [f"x{number}" for number in range(20_000)]
    start = time.process_time()
    columns = columns_to_learn([*names, "label"], known=names)
    assert len(list(notices([*names, "label"], columns, {}, new=False, chosen=False))) == 1
    assert time.process_time() - start < 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_label_that_is_too_long_for_a_name_is_refused(tmp_path, ending):
    table, path = pa.table({"x": [1.0, 2.0], "label": ["a", "b" * 1001]}), tmp_path / f"t.{ending}"
    (parquet.write_table if ending == "parquet" else csv.write_csv)(table, path)
    with pytest.raises(InputError, match="column 'label' has more than 1,000 characters"):
        table_to_learn(path)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_measurements_without_fractions_are_no_classes(tmp_path, ending):
    """As many CSV writers do, they are written 151.0."""
    values = frame(100).assign(kind=np.arange(100) // 4 + 100.0)
    path = tmp_path / f"t{ending}"
    values.to_csv(path, index=False) if ending == ".csv" else values.to_parquet(path, index=False)
    with pytest.raises(SuspectInputError, match="25 new classes in 100 rows"):
        table_to_learn(path, "kind")
    assert table_to_learn(path, "kind", check_inputs=False).columns.label == "kind"
    table_to_learn(path, "kind", classes=list(range(100, 125)))
    values.assign(kind=np.arange(100) % 4 + 1.0).to_csv(tmp_path / "few.csv", index=False)
    table_to_learn(tmp_path / "few.csv", "kind")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_whole_numbers_that_hardly_repeat_are_noticed_as_labels(tmp_path, ending):
    values = frame(100).assign(kind=np.arange(100) // 3 + 100)
    path = tmp_path / f"t{ending}"
    values.to_csv(path, index=False) if ending == ".csv" else values.to_parquet(path, index=False)
    (notice,) = table_to_learn(path, "kind").notices
    assert "34 new classes in 100 rows" in notice
    assert table_to_learn(path, "kind", classes=list(range(100, 110))).notices == ()
    assert table_to_learn(path, "kind", classes=list(range(100, 134))).notices == ()
    values.assign(kind=[f"name {number}" for number in values.kind]).to_csv(tmp_path / "names.csv", index=False)
    assert table_to_learn(tmp_path / "names.csv", "kind").notices == ()


def test_an_index_of_some_rows_of_a_larger_table_is_noticed(tmp_path):
    frame(60).iloc[::2].to_csv(tmp_path / "t.csv")
    (notice,) = [text for text in table_to_learn(tmp_path / "t.csv", "kind").notices if "''" in text]
    assert "only counts the rows" in notice
