"""`if2net undo`, `rename`, `forget`, `fork` and `merge-models`, and the JSON answers of the commands for models."""

import shutil
from functools import partial

import numpy as np
import pytest
from command_line import if2net, json_answer
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from if2net import load, modelfile
from if2net.cli import app, main
from if2net.errors import IF2NetError
from if2net.files import kept_file
from if2net.locks import locked

pytestmark = pytest.mark.usefixtures("own_cache")


answered = partial(json_answer, "model")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Digits in three tables, a model of the first two, and a model of the first one."""
    folder = tmp_path_factory.mktemp("tables")
    frame = load_digits(as_frame=True).frame
    for name, digits in {"low": range(4), "middle": range(4, 7), "high": range(7, 10)}.items():
        frame[frame.target.isin(digits)].to_csv(folder / f"{name}.csv", index=False)
    if2net("learn", folder / "low.if2", folder / "low.csv", "--set", "width=60", "--device", "cpu")
    shutil.copy(folder / "low.if2", folder / "both.if2")
    if2net("learn", folder / "both.if2", folder / "middle.csv")
    return folder


@pytest.fixture
def folder(tables, tmp_path):
    """A copy of the tables and models that a test may change."""
    return shutil.copytree(tables, tmp_path / "work")


def assert_same(one, other):
    """Check that two files hold models that give the same probabilities."""
    X = load_digits(as_frame=True).data[::7]
    one, other = load(one), load(other)
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=2e-3)
    assert one.learner_.samples == other.learner_.samples


# ---------------------------------------------------------------------- learn and info


def test_learn_and_info_answer_in_json(folder):
    learned = answered("learn", folder / "both.if2", folder / "high.csv", "--quiet")
    assert (learned["learned"], learned["new_classes"], learned["samples"]) == (533, [7, 8, 9], 1797)
    described = answered("info", folder / "both.if2")
    assert described["classes"] == list(range(10))
    assert sum(described["samples_per_class"]) == 1797
    assert (described["features"], described["tasks"], described["backbone"]) == (64, 3, None)
    assert if2net("learn", folder / "low.if2", folder / "high.csv", "--quiet") == ""


# ---------------------------------------------------------------------- undo


def test_the_last_learn_is_taken_back_once(folder):
    before = (folder / "low.if2").read_bytes()
    if2net("learn", folder / "low.if2", folder / "high.csv")
    answer = answered("undo", folder / "low.if2", "--quiet")
    assert (answer["taken_back"], answer["classes"], answer["samples"]) == (533, [0, 1, 2, 3], 720)
    assert (folder / "low.if2").read_bytes() == before
    with pytest.raises(IF2NetError, match="There is nothing to take back"):
        if2net("undo", folder / "low.if2")
    assert (folder / "low.if2").read_bytes() == before


def test_taking_back_is_told_in_words(folder):
    if2net("learn", folder / "low.if2", folder / "high.csv")
    output = if2net("undo", folder / "low.if2")
    assert "Took back 533 samples" in output
    assert "has 4 classes from 720 samples" in output


@pytest.mark.parametrize(("command", "reads"), [("undo", 2), ("info", 1)])
def test_each_model_file_is_read_once(folder, monkeypatch, command, reads):
    if2net("learn", folder / "low.if2", folder / "high.csv")
    read, paths = modelfile.read, []

    def count(path):
        paths.append(path)
        return read(path)

    monkeypatch.setattr(modelfile, "read", count)
    if2net(command, folder / "low.if2")
    assert len(paths) == len(set(paths)) == reads


def test_a_rename_is_taken_back(folder):
    before = (folder / "low.if2").read_bytes()
    names = [word for digit in range(4) for word in (digit, f"digit {digit}")]
    if2net("rename", folder / "low.if2", *names)
    answer = answered("undo", folder / "low.if2")
    assert (answer["taken_back"], answer["classes"]) == (0, [0, 1, 2, 3])
    assert answer["renamed"][3] == ["digit 3", 3]
    assert (folder / "low.if2").read_bytes() == before
    if2net("rename", folder / "low.if2", 0, 1, 1, 0)
    output = if2net("undo", folder / "low.if2")
    assert "Renamed 0 back to 1." in output
    assert "samples." in output
    assert (folder / "low.if2").read_bytes() == before


def test_a_merge_in_place_is_taken_back(folder):
    before = (folder / "low.if2").read_bytes()
    if2net("fork", folder / "low.if2", folder / "fork.if2")
    if2net("learn", folder / "fork.if2", folder / "high.csv")
    if2net("merge-models", folder / "low.if2", folder / "low.if2", folder / "fork.if2")
    answer = answered("undo", folder / "low.if2")
    assert (answer["taken_back"], answer["renamed"]) == (533, [])
    assert (folder / "low.if2").read_bytes() == before


def test_a_model_that_a_merge_replaces_is_not_kept(folder):
    if2net("fork", folder / "low.if2", folder / "fork.if2")
    if2net("merge-models", folder / "both.if2", folder / "low.if2", folder / "fork.if2", "--force")
    assert kept_file(folder / "both.if2") is None


CHANGES = {
    "forget": ["forget", "low.if2", "high.csv"],
    "forget a class": ["forget", "low.if2", "--class", "9"],
    "rename without undo": ["rename", "low.if2", "9", "10", "--no-undo"],
    "merge without undo": ["merge-models", "low.if2", "low.if2", "fork.if2", "--no-undo"],
    "learn without undo": ["learn", "low.if2", "middle.csv", "--no-undo"],
}


@pytest.mark.parametrize("change", CHANGES)
def test_forgetting_and_changes_without_undo_remove_the_previous_model(change, folder, monkeypatch):
    monkeypatch.chdir(folder)
    if2net("fork", "low.if2", "fork.if2")
    if2net("learn", "low.if2", "high.csv")
    assert kept_file("low.if2") is not None
    if2net(*CHANGES[change])
    with pytest.raises(IF2NetError, match="There is nothing to take back"):
        if2net("undo", "low.if2")
    assert not list(folder.glob(".low*"))


def test_nothing_of_forgotten_samples_can_be_taken_back_after_the_next_learn(folder):
    if2net("learn", folder / "low.if2", folder / "high.csv")
    if2net("forget", folder / "low.if2", folder / "high.csv")
    with pytest.raises(IF2NetError, match=r"could still hold forgotten samples. Use a backup copy"):
        if2net("undo", folder / "low.if2")
    forgotten = (folder / "low.if2").read_bytes()
    if2net("learn", folder / "low.if2", folder / "middle.csv")
    assert [path.read_bytes() for path in folder.glob(".low*")] == [forgotten]
    if2net("undo", folder / "low.if2")
    assert (folder / "low.if2").read_bytes() == forgotten


def test_a_model_that_another_program_has_put_there_is_not_replaced(folder):
    if2net("learn", folder / "low.if2", folder / "high.csv")
    if2net("learn", folder / "other.if2", folder / "high.csv", "--set", "width=60", "--device", "cpu")
    shutil.copy(folder / "other.if2", folder / "low.if2")
    with pytest.raises(IF2NetError, match=r"is not an earlier state of .*low\.if2"):
        if2net("undo", folder / "low.if2")
    assert (folder / "low.if2").read_bytes() == (folder / "other.if2").read_bytes()


# ---------------------------------------------------------------------- rename


def test_classes_are_renamed_and_learn_and_forget_under_their_new_names(folder):
    names = [word for digit in range(4) for word in (digit, f"digit {digit}")]
    answer = answered("rename", folder / "low.if2", *names, "--quiet")
    assert answer["renamed"][0] == [0, "digit 0"]
    assert answer["classes"] == names[1::2]
    for name in ("low", "middle"):
        table = (folder / f"{name}.csv").read_text().splitlines()
        words = [line.rpartition(",") for line in table[1:]]
        text = [f"{features},digit {label}" for features, _, label in words]
        (folder / f"{name}.csv").write_text("\n".join([table[0], *text]))
    if2net("learn", folder / "low.if2", folder / "middle.csv")
    assert answered("forget", folder / "low.if2", folder / "low.csv")["samples"] == 544


def test_names_can_be_swapped_and_numbers_stay_numbers(folder):
    assert "Renamed 0 to 1." in if2net("rename", folder / "low.if2", 0, 1, 1, 0)
    assert if2net("rename", folder / "low.if2", "--quiet", 3, 30) == ""
    assert load(folder / "low.if2").classes_.tolist() == [0, 1, 2, 30]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([0], "The class '0' has no new name"),
        ([0, ""], "A new name is empty"),
        ([7, "seven"], "There is no class '7'"),
        ([0, "zero"], "kinds number and text cannot be mixed"),
        ([0, 1], "Two classes would have the name 1"),
        ([0, 7, 0, 8], "named twice"),
    ],
)
def test_names_that_cannot_be_given_leave_the_model_unchanged(names, sentence, folder):
    before = (folder / "low.if2").read_bytes()
    with pytest.raises(IF2NetError, match=sentence):
        if2net("rename", folder / "low.if2", *names)
    assert (folder / "low.if2").read_bytes() == before


# ---------------------------------------------------------------------- forget


def test_forgotten_samples_leave_the_model_that_never_learned_them(folder, monkeypatch):
    monkeypatch.setattr("if2net.tables.readers.ROWS", 100)  # several blocks
    answer = answered("forget", folder / "both.if2", folder / "middle.csv", "--quiet")
    assert answer["removed_classes"] == [4, 5, 6]
    assert answer["forgotten"] == 544
    assert answer["classes"] == [0, 1, 2, 3]
    assert_same(folder / "both.if2", folder / "low.if2")


def test_forgetting_without_samples_says_what_stays(folder):
    assert "Their scatter around the class mean stays" in if2net("forget", folder / "both.if2", "--class", "4")
    assert "scatter" not in if2net("forget", folder / "both.if2", folder / "low.csv")


def test_forgetting_is_told_in_words(folder):
    output = if2net("forget", folder / "both.if2", folder / "middle.csv")
    assert "Forgot 544 samples" in output
    assert "Removed classes: 4, 5, 6" in output
    assert "has 4 classes from 720 samples" in output


def test_classes_are_forgotten_without_their_samples(folder):
    answer = answered("forget", folder / "both.if2", "--class", "4", "--class", "5")
    assert answer["removed_classes"] == [4, 5]
    assert answer["forgotten"] == 181 + 182
    lines = if2net("info", folder / "both.if2").splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("classes "))
    assert lines[place - 1].startswith("forgotten 363 samples of classes")
    described = answered("info", folder / "both.if2")
    assert (described["classes"], described["nameless"]) == ([0, 1, 2, 3, 6], 363)
    assert answered("info", folder / "low.if2")["nameless"] == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Give either the samples to forget, or classes with --class"),
        (["low.csv", "--class", "1"], "Give either the samples to forget, or classes with --class"),
        (["--class", "1", "--class", "7"], "There is no class '7'"),
        (["--class", "1", "--class", "1"], "named twice"),
    ],
)
def test_classes_that_cannot_be_forgotten_leave_the_model_unchanged(words, sentence, folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = (folder / "low.if2").read_bytes()
    with pytest.raises(IF2NetError, match=sentence):
        if2net("forget", "low.if2", *words)
    assert (folder / "low.if2").read_bytes() == before


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_model_that_has_forgotten_everything_writes_no_predictions(command, folder):
    if2net("forget", folder / "low.if2", folder / "low.csv")
    done = CliRunner().invoke(app, [command, str(folder / "low.if2"), str(folder / "low.csv")])
    assert "low.if2 has no classes; learn something first" in str(done.exception)
    assert done.stdout == ""


def test_control_characters_of_a_model_reach_no_terminal(folder, monkeypatch, capsys):
    tensors, header = modelfile.read(folder / "low.if2")
    backbone = {"text": "pixels\x1b[2J", "identity": "0"}
    modelfile.write(folder / "low.if2", tensors, header | {"backbone": backbone})
    assert "pixels\\x1b[2J" in if2net("info", folder / "low.if2")
    monkeypatch.setattr("sys.argv", ["if2net", "predict", str(folder / "low.if2"), str(folder / "low.csv")])
    with pytest.raises(SystemExit):
        main()
    assert "the backbone pixels\\x1b[2J" in capsys.readouterr().err


def test_a_model_can_learn_again_after_forgetting_everything(folder):
    if2net("forget", folder / "both.if2", folder / "low.csv", folder / "middle.csv")
    assert answered("fork", folder / "both.if2", folder / "new.if2")["samples"] == 0
    if2net("learn", folder / "both.if2", folder / "low.csv")
    assert_same(folder / "both.if2", folder / "low.if2")


@pytest.mark.parametrize("name", ["high.csv", "mixed.csv", "changed.csv", "twice"])
def test_samples_that_were_never_learned_leave_the_model_unchanged(name, folder, monkeypatch):
    monkeypatch.setattr("if2net.tables.readers.ROWS", 100)
    low = (folder / "low.csv").read_text().splitlines()
    high = (folder / "high.csv").read_text().splitlines()
    (folder / "mixed.csv").write_text("\n".join(low[:300] + high[1:]))  # the first blocks were learned
    (folder / "changed.csv").write_text("\n".join([*low[:300], low[300].replace(",0.0", ",1.0")]))
    before = (folder / "both.if2").read_bytes()
    samples = [folder / "low.csv"] * 2 if name == "twice" else [folder / name]
    with pytest.raises(IF2NetError, match=r"never|only samples that were learned"):
        if2net("forget", folder / "both.if2", *samples)
    assert (folder / "both.if2").read_bytes() == before


def test_images_are_forgotten_and_unreadable_ones_are_named(pictures, tmp_path):
    (pictures / "red" / "broken.png").write_bytes(b"no image")
    model = tmp_path / "colours.if2"
    if2net("learn", model, pictures, "--backbone", "pixels,size=8", "--device", "cpu")
    (tmp_path / "gone").mkdir()
    (pictures / "red").rename(tmp_path / "gone" / "red")
    answer = answered("forget", model, tmp_path / "gone")
    assert answer["removed_classes"] == ["red"]
    assert len(answer["left_out"]) == 1
    assert load(model).classes_.tolist() == ["blue", "green"]


def test_a_model_in_use_is_not_changed(folder):
    before = (folder / "both.if2").read_bytes()
    with locked(folder / "both.if2"), pytest.raises(IF2NetError, match="is in use by process"):
        if2net("forget", folder / "both.if2", folder / "low.csv", "--no-wait")
    assert (folder / "both.if2").read_bytes() == before


# ---------------------------------------------------------------------- fork and merge-models


def test_forks_that_learned_in_two_places_join_to_the_model_that_learned_everything(folder):
    if2net("fork", folder / "low.if2", folder / "one.if2", "--quiet")
    if2net("fork", folder / "low.if2", folder / "two.if2", "--quiet")
    if2net("learn", folder / "one.if2", folder / "middle.csv")
    if2net("learn", folder / "two.if2", folder / "high.csv")
    models = [folder / name for name in ("low.if2", "one.if2", "two.if2")]
    before = [path.read_bytes() for path in models]
    answer = answered("merge-models", folder / "all.if2", *models)
    assert answer["classes"] == list(range(10))
    assert [path.read_bytes() for path in models] == before
    if2net("learn", folder / "both.if2", folder / "high.csv")
    assert_same(folder / "all.if2", folder / "both.if2")


def test_the_first_model_can_be_updated_and_counts_each_sample_once(folder):
    if2net("fork", folder / "low.if2", folder / "one.if2")
    if2net("learn", folder / "one.if2", folder / "middle.csv")
    words = ["merge-models", folder / "low.if2", folder / "low.if2", folder / "one.if2"]
    output = if2net(*words)
    assert "one.if2: 544 samples" in output
    assert "has 7 classes from 1,264 samples" in output
    assert_same(folder / "low.if2", folder / "both.if2")
    before = (folder / "low.if2").read_bytes()
    with pytest.raises(IF2NetError, match=r"one\.if2 cannot be joined .* would count twice"):
        if2net(*words)
    assert (folder / "low.if2").read_bytes() == before


def test_a_model_that_exists_is_replaced_only_by_force(folder):
    before = (folder / "both.if2").read_bytes()
    if2net("fork", folder / "low.if2", folder / "one.if2")
    merge = ["merge-models", folder / "both.if2", folder / "low.if2", folder / "one.if2"]
    for words in (["fork", folder / "low.if2", folder / "both.if2"], merge):
        with pytest.raises(IF2NetError, match="exists; choose another name, or replace it with --force"):
            if2net(*words)
    assert (folder / "both.if2").read_bytes() == before
    if2net(*merge, "--force")
    assert_same(folder / "both.if2", folder / "low.if2")


def test_a_fork_never_replaces_its_model(folder):
    (folder / "link.if2").symlink_to(folder / "low.if2")
    before = (folder / "low.if2").read_bytes()
    for name in ("low.if2", "link.if2"):
        with pytest.raises(IF2NetError, match="is the model itself, which would be lost"):
            if2net("fork", folder / "low.if2", folder / name, "--force")
    assert (folder / "low.if2").read_bytes() == before


def test_models_that_cannot_be_joined_write_nothing(folder):
    if2net("learn", folder / "other.if2", folder / "high.csv", "--set", "width=60", "--device", "cpu")
    before = sorted(folder.iterdir())
    for second, sentence in [("other.if2", "different encoders"), ("none.if2", "There is no model file")]:
        with pytest.raises(IF2NetError, match=sentence):
            if2net("merge-models", folder / "all.if2", folder / "low.if2", folder / second)
    with pytest.raises(IF2NetError, match="at least two models"):
        if2net("merge-models", folder / "all.if2", folder / "low.if2")
    assert sorted(folder.iterdir()) == before
