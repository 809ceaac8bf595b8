"""`if2net learn`, `predict` and `info` with tables, as a user calls them."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from command_line import checked_answer, if2net, if2net_with_messages
from processes import Command
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from if2net import load
from if2net.cli import app
from if2net.commands import learn as learn_command
from if2net.decision import analytic
from if2net.errors import IF2NetError, InputError
from if2net.files import kept_file

SMALL = ["--set", "width=60", "--device", "cpu"]


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
    """A model of the five old digits that a test may change."""
    path = tmp_path / "digits.if2"
    path.write_bytes((folder / "digits.if2").read_bytes())
    return path


def test_a_model_learns_new_classes_and_they_are_named(model, folder):
    output = if2net("learn", model, folder / "new.parquet")
    assert "Learned 896 samples" in output
    assert "New classes: 5, 6, 7, 8, 9" in output
    assert "has 10 classes from 1,797 samples" in output
    frame = load_digits(as_frame=True).frame
    assert load(model).score(frame.drop(columns="target"), frame.target) > 0.9


def test_tables_learned_one_by_one_give_the_same_model_as_tables_learned_together(model, folder, tmp_path):
    if2net("learn", model, folder / "new.parquet")
    if2net("learn", tmp_path / "both.if2", folder / "old.csv", folder / "new.parquet", *SMALL)
    X = pd.read_csv(folder / "ask.csv")
    both, one_by_one = load(tmp_path / "both.if2"), load(model)
    np.testing.assert_allclose(both.predict_proba(X), one_by_one.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(both.classes_, one_by_one.classes_)


def test_a_table_of_one_row_is_learned_and_predicted_and_told_in_the_singular(folder, tmp_path):
    frame = pd.read_csv(folder / "old.csv")
    frame.head(1).to_csv(tmp_path / "one.csv", index=False)
    model = tmp_path / "one.if2"
    output = if2net("learn", model, tmp_path / "one.csv", *SMALL)
    assert "Learned 1 sample in" in output
    assert "has 1 class from 1 sample." in output
    _, messages = if2net_with_messages("predict", model, tmp_path / "one.csv", "--out", tmp_path / "out.csv")
    assert "1 prediction is in" in messages
    if2net("learn", model, folder / "old.csv", "--force")
    assert "Took back 901 samples." in if2net("undo", model)
    assert "Forgot 1 sample." in if2net("forget", model, tmp_path / "one.csv")


def test_the_seconds_of_learning_do_not_contain_the_import_of_torch(folder, tmp_path, monkeypatch):
    now = [0.0]
    open_model = learn_command._open

    def slow(*arguments):
        now[0] += 100
        return open_model(*arguments)

    monkeypatch.setattr(learn_command, "_open", slow)
    monkeypatch.setattr(learn_command.time, "perf_counter", lambda: now[0])
    assert "Learned 901 samples in 0.0 s." in if2net("learn", tmp_path / "m.if2", folder / "old.csv", *SMALL)


@pytest.mark.parametrize("command", ["learn", "predict", "evaluate", "forget"])
def test_swapped_arguments_get_the_right_order(command, model, tmp_path):
    with pytest.raises(InputError, match=f"is a folder; the model comes first: if2net {command} MODEL SAMPLES"):
        if2net(command, tmp_path, model)


def test_predictions_are_those_of_the_model_as_csv(model, folder, monkeypatch):
    monkeypatch.setattr("if2net.tables.readers.ROWS", 7)  # several pieces
    lines = if2net("predict", model, folder / "ask.csv").splitlines()
    rows = list(csv.DictReader(lines))
    assert [row["row"] for row in rows] == [str(number + 1) for number in range(20)]
    assert {row["file"] for row in rows} == {str(folder / "ask.csv")}
    expected = load(model).predict(pd.read_csv(folder / "ask.csv"))
    assert [int(row["prediction"]) for row in rows] == expected.tolist()
    chances = load(model).predict_proba(pd.read_csv(folder / "ask.csv")).max(axis=1)
    np.testing.assert_allclose([float(row["probability"]) for row in rows], chances, atol=1e-6)


@pytest.mark.parametrize("words", [[], ["--top", "2"], ["--proba"]], ids=str)
def test_predictions_in_json_are_those_in_csv(model, folder, words):
    lines = if2net("predict", model, folder / "ask.csv", "--json", "--quiet", *words).splitlines()
    rows = csv.DictReader(if2net("predict", model, folder / "ask.csv", *words).splitlines())
    for line, row in zip(lines, rows, strict=True):
        found = checked_answer("predict", line)
        assert found.keys() == row.keys()
        assert (found["file"], found["row"], found["prediction"]) == (
            row["file"],
            int(row["row"]),
            int(row["prediction"]),
        )
        assert found["probability"] == float(row["probability"])


def test_a_model_of_the_command_line_predicts_without_solving_again(model, folder, monkeypatch):
    if2net("learn", model, folder / "new.parquet")

    def refuse(*arguments):
        raise AssertionError("It was solved again.")

    for name in ("solve", "choose_ridge", "temperature"):
        monkeypatch.setattr(analytic, name, refuse)
    assert len(if2net("predict", model, folder / "ask.csv").splitlines()) == 21


def test_a_model_that_cannot_be_solved_is_saved_all_the_same(folder, tmp_path):
    words = ["learn", tmp_path / "m.if2", folder / "old.csv", *SMALL, "--set", "ridge=1e-30"]
    assert "Learned 901 samples" in if2net(*words)
    with pytest.raises(IF2NetError, match="ridge is too small"):
        if2net("predict", tmp_path / "m.if2", folder / "ask.csv")


def test_probabilities_of_each_class_are_added(model, folder, tmp_path):
    if2net("predict", model, folder / "ask.csv", folder / "old.csv", "--proba", "--out", tmp_path / "out.csv")
    output = pd.read_csv(tmp_path / "out.csv")
    assert len(output) == 20 + 901
    chances = output[[f"p({label})" for label in range(5)]].to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(chances.argmax(axis=1), output["prediction"])


def test_the_most_probable_classes_come_first(model, folder, tmp_path):
    if2net("predict", model, folder / "ask.csv", "--top", "3", "--proba", "--out", tmp_path / "out.csv")
    output = pd.read_csv(tmp_path / "out.csv")
    chances = np.sort(output[[f"p({label})" for label in range(5)]].to_numpy())[:, ::-1]
    np.testing.assert_array_equal(output[["probability", "probability_2", "probability_3"]], chances[:, :3])
    for row in output.to_dict("records"):
        assert row["probability_2"] == row[f"p({row['prediction_2']})"]
    np.testing.assert_array_equal(output.prediction, load(model).predict(pd.read_csv(folder / "ask.csv")))
    if2net("predict", model, folder / "ask.csv", "--top", "1", "--out", tmp_path / "out.csv")
    assert list(pd.read_csv(tmp_path / "out.csv").columns) == ["file", "row", "prediction", "probability"]
    header = if2net("predict", model, folder / "ask.csv", "--top", "99").splitlines()[0]
    assert header.endswith(",prediction_5,probability_5")


def test_samples_of_none_of_the_classes_have_an_empty_prediction(folder, tmp_path):
    model, out = tmp_path / "digits.if2", tmp_path / "out.csv"
    if2net("learn", model, folder / "old.csv", "--set", "width=300", "--device", "cpu")
    tables = folder / "old.csv", folder / "new.parquet"
    if2net("predict", model, *tables, "--unknown", "0.05", "--out", out)
    plain = pd.read_csv(out)
    rejected = plain.prediction.isna()
    old = plain.file == str(tables[0])
    assert rejected[old].mean() < 0.2
    assert rejected[~old].mean() > 0.8
    if2net("predict", model, *tables, "--unknown", "0.05", "--top", "2", "--proba", "--out", out)
    full = pd.read_csv(out)
    np.testing.assert_array_equal(full.prediction, plain.prediction)
    for column in ("prediction", "probability", "prediction_2", "probability_2"):
        np.testing.assert_array_equal(full[column].isna(), rejected)
    assert full["p(0)"].notna().all()
    lines = if2net("predict", model, *tables, "--unknown", "0.05", "--json").splitlines()
    assert [json.loads(line)["prediction"] is None for line in lines] == rejected.tolist()
    checked_answer("predict", lines[rejected.argmax()])
    with pytest.raises(IF2NetError, match="between 0 and 1"):
        if2net("predict", model, *tables, "--unknown", "5")


def test_info_shows_what_was_learned_and_checks_the_file(model):
    output = if2net("info", model)
    for part in ("checksum ok", "if2net 0.", "wide, 64 features", "classes   5", "0: 178 samples", " kB"):
        assert part in output
    assert "% of the width, left for samples unlike those learned so far" in output
    assert "width     125" in output  # 60 nodes, 64 inputs and a constant


@pytest.mark.parametrize(("command", "tables"), [("info", []), ("predict", ["ask.csv"]), ("learn", ["old.csv"])])
def test_a_damaged_model_is_refused_and_stays_unchanged(command, tables, model, folder):
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
def test_a_wrong_table_leaves_the_model_unchanged(name, model, folder, tmp_path):
    names = ",".join(pd.read_csv(folder / "ask.csv").columns)
    text, sentence = WRONG[name]
    values = ",".join(["1"] * 64)
    (tmp_path / name).write_text(text.format(names=names, values=values, nan=values.replace("1", "", 1)))
    before = model.read_bytes()
    with pytest.raises(IF2NetError, match=sentence):
        if2net("learn", model, folder / "new.parquet", tmp_path / name)
    assert model.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["digits.if2", name])


def test_a_wrong_call_creates_no_model(folder, tmp_path):
    with pytest.raises(IF2NetError, match="There is no file"):
        if2net("learn", tmp_path / "new.if2", folder / "none.csv")
    with pytest.raises(IF2NetError, match="no sub-folders with images"):
        if2net("learn", tmp_path / "new.if2", folder)
    with pytest.raises(IF2NetError, match="did you mean 'width'"):
        if2net("learn", tmp_path / "new.if2", folder / "old.csv", "--set", "widht=3")
    with pytest.raises(IF2NetError, match="does not exist; create it"):
        if2net("learn", tmp_path / "none" / "new.if2", folder / "old.csv")
    assert not list(tmp_path.iterdir())


def test_settings_of_an_existing_model_are_refused(model, folder):
    for words in (SMALL, ["--seed", "3"]):
        with pytest.raises(IF2NetError, match="has its settings already"):
            if2net("learn", model, folder / "new.parquet", *words)


@pytest.mark.parametrize("words", [["--set", "width=5", "--set", "width=6"], ["--seed", "1", "--set", "seed=2"]])
def test_a_setting_that_is_given_twice_is_refused(words, folder, tmp_path):
    with pytest.raises(IF2NetError, match=r"The setting (width|seed) is given twice; give it once\."):
        if2net("learn", tmp_path / "new.if2", folder / "old.csv", *words)
    assert not list(tmp_path.iterdir())


def test_predictions_that_fail_half_way_leave_the_old_file(model, folder, tmp_path):
    frame = pd.read_csv(folder / "ask.csv")
    frame.iloc[-1, 0] = np.inf
    frame.to_csv(tmp_path / "bad.csv", index=False)
    (tmp_path / "out.csv").write_text(old := "file,row,prediction\n")
    with pytest.raises(IF2NetError, match="NaN or infinite"):
        if2net("predict", model, folder / "ask.csv", tmp_path / "bad.csv", "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == old
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("name", ["digits.if2", "ask.csv", "notes.csv", "link.csv"])
def test_predictions_replace_nothing_but_predictions(name, model, folder, tmp_path):
    (tmp_path / "ask.csv").write_bytes((folder / "ask.csv").read_bytes())
    (tmp_path / "notes.csv").write_text("my,notes\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "ask.csv")
    before = (tmp_path / name).read_bytes()
    words = ["predict", model, tmp_path / "ask.csv", "--out", tmp_path / name]
    with pytest.raises(IF2NetError, match=r"; choose another --out, or replace it with --force\."):
        if2net(*words)
    assert (tmp_path / name).read_bytes() == before
    if2net(*words, "--force")
    assert (tmp_path / name).read_text().startswith("file,row,prediction,probability\n")


def test_predictions_replace_older_predictions_and_empty_files(model, folder, tmp_path):
    (tmp_path / "out.csv").touch()
    for words in ([], ["--proba"], ["--json"], []):
        if2net("predict", model, folder / "ask.csv", "--out", tmp_path / "out.csv", *words)
    assert (tmp_path / "out.csv").read_text().startswith("file,row,prediction,probability\n")


def test_two_processes_that_learn_at_once_lose_nothing(folder, tmp_path):
    """The first one is stopped where it has read the model, and continues when the second one waits."""
    model = tmp_path / "digits.if2"
    model.write_bytes((folder / "digits.if2").read_bytes())
    first = Command("learn", model, folder / "new.parquet", before=STOPPED)
    assert first.stdout.readline() == "read\n"
    with pytest.raises(IF2NetError, match=f"is in use by process {first.pid} on "):
        if2net("learn", model, folder / "old.csv", "--no-wait")
    second = Command("learn", model, folder / "old.csv", "--force")
    assert f"Waiting for process {first.pid} on " in second.stderr.readline()
    assert first.finish("go on\n").returncode == second.finish().returncode == 0
    assert load(model).learner_.samples == 901 + 896 + 901
    assert [path.name for path in tmp_path.iterdir() if path != kept_file(model)] == ["digits.if2"]


STOPPED = """
from if2net import IF2Net
learn = IF2Net.learn
def stop(*arguments):
    print("read", flush=True)
    input()
    return learn(*arguments)
IF2Net.learn = stop
"""


def test_npy_files_are_learned_with_the_labels_in_another_file(digits, tmp_path):
    X, y = digits
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    if2net("learn", tmp_path / "m.if2", tmp_path / "X.npy", "--label", tmp_path / "y.npy", *SMALL)
    lines = if2net("predict", tmp_path / "m.if2", tmp_path / "X.npy").splitlines()
    assert ",1,0,0.9" in lines[1]
    assert len(lines) == 1798


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workers", "2"], "--workers needs --cluster"),
        (["--backbone", "pixels"], "--backbone is for images only"),
    ],
)
def test_options_that_do_not_fit_are_refused(words, sentence, model, folder):
    with pytest.raises(IF2NetError, match=sentence):
        if2net("learn", model, folder / "new.parquet", *words)


def test_the_file_and_the_row_of_a_wrong_cell_are_named(model, folder, tmp_path):
    frame = pd.read_csv(folder / "ask.csv")
    frame["pixel_0_3"] = frame["pixel_0_3"].astype(object)
    frame.loc[6, "pixel_0_3"] = "dark"
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(IF2NetError, match=r"bad\.csv: Row 7 of the column 'pixel_0_3' cannot be read .*'dark'"):
        if2net("predict", model, tmp_path / "bad.csv")


def test_the_file_and_the_rows_of_a_value_that_is_too_large_are_named(model, folder, tmp_path):
    frame = pd.read_csv(folder / "ask.csv").astype({"pixel_0_3": float}).assign(target=3)
    frame.loc[6, "pixel_0_3"] = 1e300
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(IF2NetError, match=rf"bad\.csv, rows 1 to {len(frame)}: X contains a value too large"):
        if2net("learn", model, tmp_path / "bad.csv")


def test_predictions_cannot_be_written_to_a_folder_that_does_not_exist(model, folder, tmp_path):
    with pytest.raises(IF2NetError, match="does not exist; create it"):
        if2net("predict", model, folder / "ask.csv", "--out", tmp_path / "none" / "out.csv")


def test_a_label_that_only_its_place_suggests_is_named(tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("x,z\n" + "".join(f"{number},{number % 2}\n" for number in range(20)))
    result = CliRunner().invoke(app, ["learn", str(tmp_path / "m.if2"), str(table), *SMALL])
    assert "The labels are the last column, 'z'. Set --label to choose another." in " ".join(result.stderr.split())


def test_errors_about_the_label_name_the_option(digits, tmp_path):
    np.save(tmp_path / "X.npy", digits[0])
    with pytest.raises(InputError, match=r"Set --label to the \.npy file of the labels"):
        if2net("learn", tmp_path / "m.if2", tmp_path / "X.npy", *SMALL)
    (tmp_path / "a.csv").write_text("x,class,label\n1,a,b\n2,b,a\n")
    with pytest.raises(InputError, match=r"could each be the label\. Set --label to one of them"):
        if2net("learn", tmp_path / "m.if2", tmp_path / "a.csv", *SMALL)


# ---------------------------------------------------------------------- tables that look like a mistake


def test_a_table_in_other_units_is_refused_with_its_columns_unless_forced(model, folder, tmp_path):
    frame = pd.read_parquet(folder / "new.parquet")
    frame.loc[:, frame.columns != "target"] *= 1000
    frame.to_csv(tmp_path / "bad.csv", index=False)
    before = model.read_bytes()
    with pytest.raises(
        IF2NetError, match=r"bad.csv, rows 1 to 896: .*columns 'pixel_\d_\d', .* times as large as usual.*--force"
    ):
        if2net("learn", model, folder / "new.parquet", tmp_path / "bad.csv")
    assert model.read_bytes() == before
    if2net("learn", model, tmp_path / "bad.csv", "--force")
    assert load(model).learner_.samples == 901 + 896
    assert load(model).learner_.check_inputs


def test_a_table_that_has_been_learned_is_refused_unless_forced(model, folder):
    before = model.read_bytes()
    for tables in (["old.csv"], ["new.parquet", "old.csv"]):
        with pytest.raises(
            IF2NetError, match=r"old.csv, rows 1 to 901: .*learned before with the same labels.*unchanged.*--force"
        ):
            if2net("learn", model, *(folder / name for name in tables))
    assert model.read_bytes() == before
    if2net("learn", model, folder / "old.csv", "--force")
    assert load(model).learner_.samples == 2 * 901


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_label_with_a_class_for_each_row_is_refused_unless_forced(ending, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(150, 3)).round(6), columns=["a", "b", "price"])
    frame["price"] = frame["price"].astype(str)
    getattr(frame, f"to_{ending}")(tmp_path / f"t.{ending}", index=False)
    words = ["learn", tmp_path / "m.if2", tmp_path / f"t.{ending}", *SMALL]
    with pytest.raises(IF2NetError, match=r"'price' has 150 new classes in 150 rows.*--force"):
        if2net(*words)
    assert not (tmp_path / "m.if2").exists()
    if2net(*words, "--force")
    assert len(load(tmp_path / "m.if2").classes_) == 150


def test_the_choices_that_a_user_may_not_expect_are_named_on_the_screen_and_in_json(tmp_path):
    frame = pd.DataFrame({"x": np.arange(40) % 7, "z": np.arange(40) % 2})
    frame.to_csv(tmp_path / "a.csv")  # with the index of pandas, which has no name
    frame.assign(x=frame.x + 0.5, note=1)[["note", "x", "z"]].to_csv(tmp_path / "b.csv", index_label="")
    words = ["learn", str(tmp_path / "m.if2"), str(tmp_path / "a.csv"), "--json"]
    result = CliRunner().invoke(app, [*words, *SMALL])
    notices = json.loads(result.stdout)["notices"]
    assert [notice.split(".")[0] for notice in notices] == [
        "The labels are the last column, 'z'",
        "The column '' only counts the rows, and is used as a feature",
    ]
    assert " ".join(notices) in " ".join(result.stderr.split())
    assert json.loads(if2net(*words, tmp_path / "b.csv", "--label", "z", "--force"))["notices"] == [
        "Columns that are not features of the model are ignored: 'note'."
    ]
    assert not CliRunner().invoke(app, [*words, "--force", "--quiet"]).stderr


# ---------------------------------------------------------------------- weights


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_a_column_of_weights_weighs_rows_and_is_no_feature(tmp_path, ending):
    frame = load_digits(as_frame=True).frame.head(300).assign(importance=np.arange(300) % 3)
    path = tmp_path / f"rows.{ending}"
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path, index=False),
        "npz": lambda: np.savez(path, X=frame.iloc[:, :64], target=frame.target, importance=frame.importance),
    }[ending]()
    frame.loc[frame.index.repeat(frame.importance)].drop(columns="importance").to_csv(tmp_path / "r.csv", index=False)
    output = if2net("learn", tmp_path / "w.if2", path, "--label", "target", "--weight", "importance", *SMALL)
    if2net("learn", tmp_path / "r.if2", tmp_path / "r.csv", "--label", "target", *SMALL)
    assert "Learned 200 samples" in output
    X = load_digits().data[:300][frame.importance > 0]
    weighted, repeated = (load(tmp_path / f"{name}.if2").learner_.scores(X) for name in "wr")
    np.testing.assert_allclose(weighted, repeated, atol=2e-3)
    if2net("forget", tmp_path / "w.if2", path, "--label", "target", "--weight", "importance")
    assert load(tmp_path / "w.if2").learner_.samples == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--weight", "nothing"], "no column 'nothing'"),
        (["--weight", "target", "--label", "target"], "cannot be the weight"),
        (["--weight", "pixel_0_0"], "cannot be the weight"),
        (["--weight", "pixel_0_1", "--cluster", "auto"], "take no weights"),
    ],
    ids=["unknown", "label", "feature", "cluster"],
)
def test_a_wrong_column_of_weights_is_an_error(model, folder, words, message):
    with pytest.raises(IF2NetError, match=message):
        if2net("learn", model, folder / "new.parquet", *words)


def test_weights_that_cannot_be_used_are_named(tmp_path):
    frame = load_digits(as_frame=True).frame.head(30).assign(importance=-1.0)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(IF2NetError, match="negative"):
        if2net("learn", tmp_path / "m.if2", tmp_path / "rows.csv", "--label", "target", "--weight", "importance")
    assert not (tmp_path / "m.if2").exists()


def test_the_name_of_an_output_cannot_steer_the_terminal(model, folder, tmp_path):
    table, page = tmp_path / "a\x1b[2J.csv", tmp_path / "a\x1b[2J.html"
    shown = CliRunner().invoke(app, ["predict", str(model), str(folder / "ask.csv"), "--out", str(table)]).output
    shown += CliRunner().invoke(app, ["evaluate", str(model), str(folder / "old.csv"), "--html", str(page)]).output
    assert (table.exists(), page.exists(), "\x1b[2J" in shown) == (True, True, False)
    assert r"a\x1b[2J.csv" in shown
