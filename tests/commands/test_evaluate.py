"""`if2net evaluate` with tables and images, as a user calls it."""

import json
import re
import shutil
from functools import partial

import pandas as pd
import pytest
from command_line import if2net, if2net_with_messages, json_answer
from sklearn.datasets import load_digits

from if2net import load
from if2net.errors import IF2NetError

pytestmark = pytest.mark.usefixtures("own_cache")


measured = partial(json_answer, "evaluate", "evaluate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of digits, and rows that it has not learned."""
    folder = tmp_path_factory.mktemp("evaluate")
    frame = load_digits(as_frame=True).frame
    frame[::2].to_csv(folder / "train.csv", index=False)
    frame[1::2].to_csv(folder / "test.csv", index=False)
    if2net("learn", folder / "digits.if2", folder / "train.csv", "--set", "width=60", "--device", "cpu")
    return folder


@pytest.fixture
def birds(pictures, tmp_path):
    """A model of images of two colours; a third colour and a broken image are in the folder `test`."""
    (pictures / "red" / "broken.png").write_bytes(b"no image")
    shutil.copytree(pictures, tmp_path / "train", ignore=shutil.ignore_patterns("red"))
    pictures.rename(tmp_path / "test")
    model = tmp_path / "birds.if2"
    if2net("learn", model, tmp_path / "train", "--backbone", "pixels,size=8", "--device", "cpu")
    return model


def test_the_accuracy_is_that_of_the_model_whatever_the_size_of_the_pieces(folder, monkeypatch):
    monkeypatch.setattr("if2net.tables.readers.ROWS", 100)
    answer = measured(folder / "digits.if2", folder / "test.csv")
    test = pd.read_csv(folder / "test.csv")
    score = load(folder / "digits.if2").score(test.drop(columns="target"), test.target)
    assert answer["accuracy"] == pytest.approx(score)
    assert answer["samples"] == 898
    assert sum(one["samples"] for one in answer["classes"]) == 898
    low, high = answer["accuracy_interval"]
    assert low < score < high


def test_the_screen_shows_figures_classes_and_confusions(folder):
    output = if2net("evaluate", folder / "digits.if2", folder / "test.csv")
    for part in ("accuracy", "balanced accuracy", "calibration error", "95 % confidence", "recall", "predicted as"):
        assert part in output


def test_quiet_prints_nothing_but_json(folder):
    words = ["evaluate", folder / "digits.if2", folder / "test.csv", "--quiet"]
    assert if2net_with_messages(*words) == ("", "")
    output, messages = if2net_with_messages(*words, "--json")
    assert json.loads(output)["samples"] == 898
    assert messages == ""


def test_the_page_shows_wrong_rows(folder, tmp_path):
    if2net("evaluate", folder / "digits.if2", folder / "test.csv", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "pixel_0_0" in page
    assert "test.csv" in page
    assert "$" not in page


def test_the_page_shows_wrong_images_and_escapes_names(birds, tmp_path):
    (tmp_path / "test" / "red").rename(tmp_path / "test" / "<b>red &")
    _, messages = if2net_with_messages("evaluate", birds, tmp_path / "test", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('<img src="data:image/jpeg;base64,') == 4
    assert "&lt;b&gt;red &amp;" in page
    assert "<b>red" not in page
    assert "broken.png cannot be read" in page
    assert not re.search(r'(src|href)="(?!data:)', page)  # one file is everything
    assert "Left out (1):" in messages


def test_long_names_under_images_break_between_their_words(birds, tmp_path):
    (tmp_path / "test" / "red").rename(tmp_path / "test" / "black_footed-albatross.")
    if2net("evaluate", birds, tmp_path / "test", "--html", tmp_path / "page.html")
    assert "is black_<wbr>footed-<wbr>albatross.<br>" in (tmp_path / "page.html").read_text()


def test_a_class_that_the_model_does_not_know_counts_as_wrong(birds, tmp_path):
    answer = measured(birds, tmp_path / "test")
    assert answer["unknown_classes"] == ["red"]
    assert answer["accuracy"] == pytest.approx(2 / 3)
    assert len(answer["left_out"]) == 1
    assert "'red' is not a class of the model" in if2net("evaluate", birds, tmp_path / "test")


def test_evaluating_changes_no_model(folder):
    before = (folder / "digits.if2").read_bytes()
    measured(folder / "digits.if2", folder / "test.csv")
    assert (folder / "digits.if2").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("target,pixel_0_0\n1,2\n", "missing in this table"),
        ("{names},target\n{values},one\n", "not a whole number"),
        ("{names},target\n", "holds no samples"),
    ],
)
def test_a_wrong_table_is_refused_and_writes_no_page(content, sentence, folder, tmp_path):
    names = [name for name in pd.read_csv(folder / "test.csv").columns if name != "target"]
    (tmp_path / "wrong.csv").write_text(content.format(names=",".join(names), values=",".join("1" * 64)))
    with pytest.raises(IF2NetError, match=sentence):
        if2net("evaluate", folder / "digits.if2", tmp_path / "wrong.csv", "--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_brackets_in_the_name_of_the_page_are_no_markup(folder, tmp_path):
    (tmp_path / "[").mkdir()
    page = tmp_path / "[" / "x].html"
    words = ["evaluate", folder / "digits.if2", folder / "test.csv", "--html", page]
    if2net(*words)
    assert page.exists()


def test_the_page_replaces_nothing_but_a_page(folder, tmp_path):
    words = ["evaluate", folder / "digits.if2", folder / "test.csv", "--html", tmp_path / "page.html"]
    if2net(*words)
    if2net(*words)
    (tmp_path / "page.html").write_text("<p>mine")
    with pytest.raises(IF2NetError, match="choose another --html, or replace it with --force"):
        if2net(*words)
    assert (tmp_path / "page.html").read_text() == "<p>mine"
