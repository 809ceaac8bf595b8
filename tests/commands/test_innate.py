"""`if2net innate`: a sheet of drawings, and a training of a few steps."""

import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from if2net import modelfile
from if2net.cli import app
from if2net.encoder.innate import weights
from if2net.errors import ConfigurationError, OutputError


def innate(*words):
    return CliRunner().invoke(app, ["innate", *map(str, words)])


def test_the_group_is_listed():
    assert " innate " in CliRunner().invoke(app, ["--help"]).output.split("The innate encoder")[1]
    for command in ("draw", "train"):
        assert innate(command, "--help").exit_code == 0


def test_draw_writes_the_same_sheet_for_the_same_seed(tmp_path):
    first, second = tmp_path / "first.png", tmp_path / "second.png"
    for out in (first, second):
        result = innate("draw", "--out", out, "--classes", 2, "--each", 3, "--size", 10, "--seed", 4)
        assert result.exit_code == 0, result.output
    assert "6 drawings of 2 classes" in result.output
    with Image.open(first) as picture:
        assert picture.size == (36, 24)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("command", ["draw", "train"])
def test_a_seed_that_is_too_large_is_refused(tmp_path, command):
    error = innate(command, "--seed", 2**32, "--out", tmp_path / "out.png").exception
    assert isinstance(error, ConfigurationError)
    assert not list(tmp_path.iterdir())


def test_draw_writes_only_png_files(tmp_path):
    assert isinstance(innate("draw", "--out", tmp_path / "model.if2").exception, OutputError)
    assert not list(tmp_path.iterdir())


def test_draw_replaces_nothing_but_drawings(tmp_path):
    out = tmp_path / "photo.png"
    Image.new("RGB", (5, 5)).save(out)
    before = out.read_bytes()
    words = ("draw", "--out", out, "--classes", 1, "--each", 1, "--size", 5)
    assert "choose another --out, or replace it with --force" in str(innate(*words).exception)
    assert out.read_bytes() == before
    assert innate(*words, "--force").exit_code == 0
    assert innate(*words).exit_code == 0


def test_train_writes_an_encoder_twice_with_the_same_hash(tmp_path):
    out = tmp_path / "small.if2"
    words = ("train", "--out", out, "--steps", 2, "--batch", 2, "--device", "cpu")
    result = innate(*words)
    assert result.exit_code == 0, result.output
    assert "steps 2/2 loss" in result.output
    assert f"to {out}. Its hash is " in result.output.replace("\n", "")
    first = modelfile.read(out)[1]["hash"]
    assert innate(*words).exit_code == 0  # replaces a file of its kind
    assert modelfile.read(out)[1]["hash"] == first
    assert weights.read(out).features(torch.rand(1, 1, 28, 28)).shape == (1, 3840)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--size", "huge"], ConfigurationError),
        (["--out", "missing/small.if2"], OutputError),
        (["--out", "notes.txt"], OutputError),
    ],
)
def test_train_refuses_a_wrong_argument_before_it_begins(words, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    result = innate("train", "--out", "new.if2", "--device", "cpu", *words)
    assert isinstance(result.exception, error)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert (tmp_path / "notes.txt").read_text() == "mine"
