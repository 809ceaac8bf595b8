"""Folders for results: other files stay, and a folder that cannot be used is found before the work."""

import os

import pytest
from command_line import if2net

from if2net.errors import ConfigurationError, InUseError, OutputError
from if2net.locks import locked
from if2net.study.commands.options import check_results_folder

RUN = ["run", "-m", "ncm", "--device", "cpu", "--out"]


@pytest.fixture
def notes(tmp_path):
    """A folder with files of a user, whose names are those of our own files."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("config.json", "report.html", "table.md"):
        (folder / name).write_text("mine")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        RUN,
        ["reproduce", "table-mnist", "--out"],
        ["reproduce", "ablation-stability", "--out"],
        ["merge", "x", "--out"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_folder_of_other_files_is_refused_and_left_alone(words, notes):
    with pytest.raises(OutputError, match="holds other files and no results; choose another --out, or write into it"):
        if2net(*words, notes)
    assert {path.read_text() for path in notes.iterdir()} == {"mine"}


def test_a_folder_of_other_files_is_used_if_the_user_says_so(notes):
    if2net(*RUN, notes, "--force")
    assert (notes / "results.json").exists()
    assert (notes / "table.md").read_text() == "mine"


def test_results_that_the_commands_have_written_are_known_again(tmp_path):
    if2net(*RUN, tmp_path / "run")
    if2net("merge", tmp_path / "run", "--out", tmp_path / "merged")
    if2net("report", tmp_path / "run", tmp_path / "merged", "--out", tmp_path / "report")
    for folder in (tmp_path / "run", tmp_path / "merged", tmp_path / "report", tmp_path, tmp_path / "new"):
        check_results_folder(folder, force=False)
    assert not list(tmp_path.rglob(".*"))


def test_a_folder_that_cannot_be_written_to_is_found_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file, and a folder is needed"):
        check_results_folder(tmp_path / "file" / "new", force=True)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may write everywhere
    with pytest.raises(OutputError, match=f"The folder {tmp_path} cannot be written to"):
        check_results_folder(tmp_path / "some" / "new", force=True)


def test_a_failed_merge_leaves_no_folder_behind(tmp_path):
    with pytest.raises(ConfigurationError, match=r"none holds no results\.json"):
        if2net("merge", tmp_path / "none", "--out", tmp_path / "merged")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [RUN, ["merge", "x", "--out"]], ids=lambda words: words[0])
def test_a_folder_in_use_is_refused_if_the_user_does_not_wait(words, tmp_path):
    if2net(*RUN, tmp_path / "x")
    words = [tmp_path / "x" if word == "x" else word for word in words]
    with locked(tmp_path), pytest.raises(InUseError, match="is in use by process"):
        if2net(*words, tmp_path, "--no-wait")


@pytest.mark.parametrize("name", ["config.json", "report.html"])
def test_a_file_of_the_user_beside_results_is_not_replaced(tmp_path, name):
    if2net(*RUN, tmp_path / "run")
    (tmp_path / name).write_text("mine")
    for words in (RUN, ["report", tmp_path / "run", "--out"]):
        with pytest.raises(OutputError, match=f"{name} exists and was not written by if2net"):
            if2net(*words, tmp_path)
    assert (tmp_path / name).read_text() == "mine"
