"""learn, predict and info on tables, as a user calls them."""

import csv

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from if2net import load
from if2net.cli import app
from if2net.errors import IF2NetError

SMALL = ["--set", "width=60", "--device", "cpu"]


def if2net(*words):
    """What the command prints; what it raises is raised."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Digits in two tables, and rows without labels."""
    folder = tmp_path_factory.mktemp("tables")
    frame = load_digits(as_frame=True).frame
    frame[frame.target < 5].to_csv(folder / "old.csv", index=False)
    frame[frame.target >= 5].to_parquet(folder / "new.parquet", index=False)
    frame.drop(columns="target").head(20).to_csv(folder / "ask.csv", index=False)
    if2net("learn", folder / "digits.if2", folder / "old.csv", *SMALL)
    return folder


@pytest.fixture
def model(folder, tmp_path):
    """A model of the five old digits, to be changed at will."""
    path = tmp_path / "digits.if2"
    path.write_bytes((folder / "digits.if2").read_bytes())
    return path


def test_learning_goes_on_with_new_classes_and_says_what_was_added(model, folder):
    said = if2net("learn", model, folder / "new.parquet")
    assert "Learned 896 samples" in said
    assert "New classes: 5, 6, 7, 8, 9" in said
    assert "knows 10 classes from 1,797 samples" in said
    frame = load_digits(as_frame=True).frame
    assert load(model).score(frame.drop(columns="target"), frame.target) > 0.9


def test_tables_one_after_the_other_give_what_tables_together_give(model, folder, tmp_path):
    if2net("learn", model, folder / "new.parquet")
    if2net("learn", tmp_path / "both.if2", folder / "old.csv", folder / "new.parquet", *SMALL)
    X = pd.read_csv(folder / "ask.csv")
    both, one_by_one = load(tmp_path / "both.if2"), load(model)
    np.testing.assert_allclose(both.predict_proba(X), one_by_one.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(both.classes_, one_by_one.classes_)


def test_predictions_are_csv_and_those_of_the_model(model, folder, monkeypatch):
    monkeypatch.setattr("if2net.tables.ROWS", 7)  # in several pieces
    lines = if2net("predict", model, folder / "ask.csv").splitlines()
    rows = list(csv.DictReader(lines))
    assert [row["row"] for row in rows] == [str(number + 1) for number in range(20)]
    assert {row["file"] for row in rows} == {str(folder / "ask.csv")}
    expected = load(model).predict(pd.read_csv(folder / "ask.csv"))
    assert [int(row["prediction"]) for row in rows] == expected.tolist()


def test_probabilities_come_with_every_class(model, folder, tmp_path):
    if2net("predict", model, folder / "ask.csv", folder / "old.csv", "--proba", "--out", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert len(found) == 20 + 901
    chances = found[[f"p({label})" for label in range(5)]].to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(chances.argmax(axis=1), found["prediction"])


def test_info_says_what_was_learned_and_that_the_file_is_whole(model):
    said = if2net("info", model)
    for part in ("checksum ok", "if2net 0.", "wide, 64 features", "classes  5", "0: 178 samples", "tr(P)/S", "MB"):
        assert part in said
    assert "width    125" in said  # 60 nodes, 64 inputs beside them and a one


@pytest.mark.parametrize(("command", "tables"), [("info", []), ("predict", ["ask.csv"]), ("learn", ["old.csv"])])
def test_a_damaged_model_is_refused_and_left_alone(command, tables, model, folder):
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    with pytest.raises(IF2NetError, match="checksum does not match"):
        if2net(command, model, *[folder / name for name in tables])
    assert model.read_bytes() == content


WRONG = {
    "nan.csv": ("target,{names}\n5,{values}\n5,{nan}\n", "NaN"),
    "label.csv": ("{names}\n{values}\n", "No column looks like the label"),
    "missing.csv": ("pixel_0_0,target\n1,5\n", "missing in this table"),
    "words.csv": ("target,{names}\nfive,{values}\n", "not a whole number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_leaves_the_model_as_it_was(name, model, folder, tmp_path):
    names = ",".join(pd.read_csv(folder / "ask.csv").columns)
    text, sentence = WRONG[name]
    values = ",".join(["1"] * 64)
    (tmp_path / name).write_text(text.format(names=names, values=values, nan=values.replace("1", "", 1)))
    before = model.read_bytes()
    with pytest.raises(IF2NetError, match=sentence):
        if2net("learn", model, folder / "new.parquet", tmp_path / name)
    assert model.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["digits.if2", name])


def test_a_wrong_table_makes_no_model(folder, tmp_path):
    with pytest.raises(IF2NetError, match="There is no file"):
        if2net("learn", tmp_path / "new.if2", folder / "none.csv")
    with pytest.raises(IF2NetError, match="no sub-folders with images"):
        if2net("learn", tmp_path / "new.if2", folder)
    with pytest.raises(IF2NetError, match="did you mean 'width'"):
        if2net("learn", tmp_path / "new.if2", folder / "old.csv", "--set", "widht=3")
    with pytest.raises(IF2NetError, match="does not exist; create it"):
        if2net("learn", tmp_path / "none" / "new.if2", folder / "old.csv")
    assert not list(tmp_path.iterdir())


def test_settings_are_for_new_models(model, folder):
    with pytest.raises(IF2NetError, match="has its settings already"):
        if2net("learn", model, folder / "new.parquet", *SMALL)


def test_predictions_that_fail_half_way_leave_no_file(model, folder, tmp_path):
    frame = pd.read_csv(folder / "ask.csv")
    frame.iloc[-1, 0] = np.inf
    frame.to_csv(tmp_path / "bad.csv", index=False)
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(IF2NetError, match="infinity"):
        if2net("predict", model, folder / "ask.csv", tmp_path / "bad.csv", "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


def test_arrays_are_learned_with_labels_in_a_file_of_their_own(digits, tmp_path):
    X, y = digits
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    if2net("learn", tmp_path / "m.if2", tmp_path / "X.npy", "--label", tmp_path / "y.npy", *SMALL)
    lines = if2net("predict", tmp_path / "m.if2", tmp_path / "X.npy").splitlines()
    assert lines[1].endswith(",1,0")
    assert len(lines) == 1798
