import gzip

import numpy as np
import pandas as pd
import pytest

from if2net.errors import InputError
from if2net.tables.npy import ROWS
from if2net.tables.reading import Stream, table_to_learn, table_to_predict, tables_to_learn

LONG = 2 * ROWS + 100


def frame(rows=50):
    return pd.DataFrame(
        {
            "height": np.arange(rows) / 4,
            "kind": [["owl", "wren"][number % 2] for number in range(rows)],
            "width": np.arange(rows) % 7,
        }
    )


def write(folder, ending, rows=50):
    """The same samples in a file of any kind, and which column is the label."""
    table, path = frame(rows), folder / f"birds{ending}"
    if ending.startswith((".csv", ".tsv")):
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


ENDINGS = [".csv", ".csv.gz", ".tsv", ".parquet", ".npz", ".npy"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_kind_of_file_gives_the_same_samples_in_pieces_of_one_size(ending, tmp_path):
    table = table_to_learn(*write(tmp_path, ending, LONG))
    pieces = list(table)
    assert [len(X) for X, _ in pieces] == [ROWS, ROWS, 100]
    expected = frame(LONG)
    np.testing.assert_array_equal(np.concatenate([X for X, _ in pieces]), expected[["height", "width"]])
    assert np.concatenate([y for _, y in pieces]).tolist() == expected["kind"].tolist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_can_be_gone_over_again(ending, tmp_path):
    table = table_to_learn(*write(tmp_path, ending))
    assert [X.tolist() for X, _ in table] == [X.tolist() for X, _ in table]


def test_a_large_file_is_not_held_in_memory(tmp_path):
    """32 MB of features are read with a peak of a few pieces."""
    import tracemalloc

    np.save(tmp_path / "X.npy", np.zeros((20 * ROWS, 50)))
    np.save(tmp_path / "y.npy", np.zeros(20 * ROWS, dtype=int))
    table = table_to_learn(tmp_path / "X.npy", str(tmp_path / "y.npy"))
    tracemalloc.start()
    rows = sum(len(X) for X, _ in table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 20 * ROWS
    assert peak < 8 * ROWS * 50 * 8


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(["3", "-1", "0"], [3, -1, 0]), (["3", "007", "1"], ["3", "007", "1"]), (["1.0", "2", "3"], ["1.0", "2", "3"])],
)
def test_labels_that_are_written_as_whole_numbers_are_numbers(labels, expected, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,label\n" + "".join(f"1,{label}\n" for label in labels))
    ((_, y),) = table_to_learn(path)
    assert y.tolist() == expected


def test_labels_are_read_as_the_model_has_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,label\n1,3\n2,4\n")
    ((_, y),) = table_to_learn(path, classes=["owl", "3"])
    assert y.tolist() == ["3", "4"]


def test_parquet_columns_of_vectors_and_categories_are_read(tmp_path):
    table = pd.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]], "label": pd.Categorical(["a", "b"])})
    table.to_parquet(tmp_path / "t.parquet")
    found = table_to_learn(tmp_path / "t.parquet")
    ((X, y),) = found
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["a", "b"]
    assert found.feature_names is None


def test_several_tables_are_one_stream_in_the_columns_of_the_first(tmp_path):
    (tmp_path / "a.csv").write_text("height,width,label\n1,2,owl\n")
    (tmp_path / "b.csv").write_text("label,width,height\nwren,4,3\n")
    seen = []
    tables = tables_to_learn([tmp_path / "a.csv", tmp_path / "b.csv"], None, None, [])
    assert [(X.tolist(), y.tolist()) for X, y in Stream(tables, seen.append)] == [
        ([[1, 2]], ["owl"]),
        ([[3, 4]], ["wren"]),
    ]
    assert seen == [1, 1]


def test_a_table_to_predict_needs_no_label(tmp_path):
    path, _ = write(tmp_path, ".csv")
    (X,) = table_to_predict(path, known=["width", "height"]).features()
    np.testing.assert_array_equal(X, frame()[["width", "height"]])


BROKEN = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"x,label\n", "holds no samples"),
    "numbers.csv": (b"1,2,3\n4,5,6\n", "add a first line"),
    "twice.csv": (b"x,x,label\n1,2,a\n", "same name"),
    "text.csv": (b"x,label\nred,a\n", "Features must be numbers"),
    "ragged.csv": (b"x,z,label\n1,2,a\n1,a\n", "cannot be read"),
    "nolabel.csv": (b"x,label\n1,a\n2,\n", "empty cells"),
    "mixed.csv": (b"x,label\n" + b"1,5\n" * ROWS + b"1,owl\n", "'owl' is no whole number"),
    "latin.csv": (b"x,label\n1,caf\xe9\n", "cannot be read"),
    "cut.csv.gz": (gzip.compress(b"x,label\n1,a\n" * 1000)[:40], "cannot be read"),
    "cut.parquet": (b"PAR1 and no more", "cannot be read"),
    "cut.npz": (b"PK and no more", "cannot be read"),
    "birds.txt": (b"x,label\n1,a\n", "of no kind that can be read"),
    "X.npy": (b"", "--label LABELS.npy"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_what_to_do(name, tmp_path):
    content, sentence = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence) as raised:
        list(table_to_learn(tmp_path / name))
    assert name in str(raised.value)


def test_a_folder_and_a_file_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        table_to_learn(tmp_path)
    with pytest.raises(InputError, match="There is no file"):
        table_to_learn(tmp_path / "none.csv")


def test_arrays_that_do_not_go_together_are_refused(tmp_path):
    np.savez(tmp_path / "lengths.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    np.savez(tmp_path / "objects.npz", X=np.zeros((3, 2)), y=np.array([1, "a", None], dtype=object))
    np.savez(tmp_path / "number.npz", X=np.zeros((3, 2)), y=np.array(3))
    for name, sentence in [("lengths", "'y' has 2"), ("objects", "Python objects"), ("number", "single number")]:
        with pytest.raises(InputError, match=sentence):
            table_to_learn(tmp_path / f"{name}.npz")


def test_an_array_that_is_cut_short_is_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((100, 5)))
    np.save(tmp_path / "y.npy", np.zeros(100, dtype=int))
    content = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(content[:-8])
    with pytest.raises(InputError, match="cut short"):
        table_to_learn(tmp_path / "X.npy", str(tmp_path / "y.npy"))
